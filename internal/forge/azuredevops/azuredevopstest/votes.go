package azuredevopstest

import (
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// votes returns the reviewers of a pull request: those who voted, and a group, which has the vote of its members.
func (c *call) votes(pr *forgetest.PullRequest) []map[string]any {
	values := map[forge.ReviewDecision]int{forge.Approved: 10, forge.ChangesRequested: -5, forge.Withdrawn: 0}
	all := []map[string]any{}
	for _, v := range pr.Decisions() {
		value := values[v.Decision]
		if v.Decision == forge.Approved && v.Commit != pr.Head.Commit && c.resetsVotes(pr) {
			value = 0
		}
		who, _ := account(v.Login).(map[string]any)
		who["vote"], who["isContainer"] = value, false
		group := map[string]any{"id": "id-of-group", "displayName": "Reviewers", "uniqueName": "vstfs:///group", "vote": value, "isContainer": true}
		all = append(all, who, group)
	}
	return all
}

// resetsVotes reports whether a policy of the base branch resets approvals when commits are pushed.
func (c *call) resetsVotes(pr *forgetest.PullRequest) bool {
	for _, p := range c.more.policies {
		if at(p, "settings", "scope", 0, "refName") == heads+pr.Base.Branch && at(p, "settings", "resetOnSourcePush") == true {
			return true
		}
	}
	return false
}
