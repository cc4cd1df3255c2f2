package forge

import "strings"

// Kind is the kind of a forge.
type Kind string

// The kinds of forges.
const (
	GitHub      Kind = "github"
	GitLab      Kind = "gitlab"
	Gitea       Kind = "gitea" // and Forgejo, which has the same API
	AzureDevOps Kind = "azuredevops"
	// Bitbucket is Bitbucket Cloud. Bitbucket Data Center, which was Server, has another API.
	Bitbucket       Kind = "bitbucket"
	BitbucketServer Kind = "bitbucketserver"
	Local           Kind = "local"
)

// Kinds returns all kinds in display order.
func Kinds() []Kind {
	return []Kind{GitHub, GitLab, Gitea, AzureDevOps, Bitbucket, BitbucketServer, Local}
}

// publicHosts are the public forges.
var publicHosts = map[string]Kind{
	"github.com":    GitHub,
	"gitlab.com":    GitLab,
	"gitea.com":     Gitea,
	"codeberg.org":  Gitea,
	"dev.azure.com": AzureDevOps,
	"bitbucket.org": Bitbucket,
}

// hostNames are common first labels of host names, as in "gitlab.example.com".
var hostNames = map[string]Kind{
	"github": GitHub, "gitlab": GitLab, "gitea": Gitea, "forgejo": Gitea, "bitbucket": BitbucketServer,
}

// KindOfHost returns the kind of forge at a host, if it is a public forge or its name begins with a kind,
// as in "gitlab.example.com". The kinds of other hosts have to be configured.
func KindOfHost(host string) (Kind, bool) {
	host = strings.ToLower(host)
	if kind, ok := publicHosts[host]; ok {
		return kind, true
	}
	if strings.HasSuffix(host, ".visualstudio.com") {
		return AzureDevOps, true
	}
	first, _, _ := strings.Cut(host, ".")
	kind, ok := hostNames[first]
	return kind, ok
}
