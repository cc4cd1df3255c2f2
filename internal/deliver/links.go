package deliver

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// commitURL returns the URL of a commit's page; empty if no forge hosts
// the repository, or the forge has no such page.
func commitURL(forges pullrequest.Forges, repo, commit string) string {
	host, err := forges.Forge(repo)
	if err != nil || commitOf(commit) == "" {
		return ""
	}
	id, err := forge.ParseID(repo)
	if err != nil {
		return ""
	}
	scheme := "https://"
	if strings.HasPrefix(repo, "http://") {
		scheme = "http://"
	}
	at := scheme + id.Host + "/" + id.Path
	switch host.Kind() {
	case forge.GitHub, forge.Gitea, forge.AzureDevOps:
		return at + "/commit/" + commit
	case forge.Bitbucket:
		return at + "/commits/" + commit
	case forge.BitbucketServer:
		parts := strings.Split(strings.TrimPrefix(id.Path, "scm/"), "/")
		if len(parts) != 2 {
			return ""
		}
		return scheme + id.Host + "/projects/" + parts[0] + "/repos/" + parts[1] + "/commits/" + commit
	case forge.GitLab:
		return at + "/-/commit/" + commit
	default:
		return ""
	}
}
