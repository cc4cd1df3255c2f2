package forge

import "strings"

// Kind is the make of a forge.
type Kind string

// The kinds of forges.
const (
	GitHub      Kind = "github"
	GitLab      Kind = "gitlab"
	Gitea       Kind = "gitea" // and Forgejo, which has the same API
	AzureDevOps Kind = "azuredevops"
	Local       Kind = "local"
)

// Kinds are all kinds, in the order in which people read them.
func Kinds() []Kind { return []Kind{GitHub, GitLab, Gitea, AzureDevOps, Local} }

// publicHosts are those that everybody knows.
var publicHosts = map[string]Kind{
	"github.com":    GitHub,
	"gitlab.com":    GitLab,
	"gitea.com":     Gitea,
	"codeberg.org":  Gitea,
	"dev.azure.com": AzureDevOps,
}

// hostNames are the words that hosts are named by, as in "gitlab.example.com".
var hostNames = map[string]Kind{
	"github": GitHub, "gitlab": GitLab, "gitea": Gitea, "forgejo": Gitea,
}

// KindOfHost says which kind of forge a host is, by its name: those of the public forges,
// and names that begin with a kind's, as "gitlab.example.com" does. Others are for the configuration to say.
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
