package e2e

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
)

// TestForge: what Kalypso expects of every forge holds for a Gitea as it is, and not only for our fake of it.
func TestForge(t *testing.T) {
	t.Parallel()
	organization := newOrganization(t, "rules")
	bot := account(t, organization+"-bot", "write:repository", "write:issue", "write:organization", "read:user")
	join(t, organization, bot.Name, map[string]any{"permission": "write", "can_create_org_repo": true})
	weak := account(t, organization+"-reader", "read:repository", "read:issue", "read:user")
	join(t, organization, weak.Name, map[string]any{"permission": "read"})
	forgetest.Run(t, giteatest.Real{
		URL: stack.Gitea.URL, Organization: organization,
		Token: forge.NewSecret(bot.Token), Weak: forge.NewSecret(weak.Token), Person: forge.NewSecret(stack.Gitea.Admin.Token),
	}.Harness)
}

// join makes an account the only member of a team of an organization, which has the given rights in all its repositories.
func join(t *testing.T, organization, account string, rights map[string]any) {
	t.Helper()
	var team struct {
		ID int `json:"id"`
	}
	rights["name"], rights["includes_all_repositories"] = "team-of-"+account, true
	rights["units"] = []string{"repo.code", "repo.issues", "repo.pulls"}
	must(t, stack.Gitea.Call(t.Context(), stack.Gitea.Admin, http.MethodPost, "/orgs/"+organization+"/teams", rights, &team))
	must(t, stack.Gitea.Call(t.Context(), stack.Gitea.Admin, http.MethodPut, "/teams/"+strconv.Itoa(team.ID)+"/members/"+account, nil, nil))
}
