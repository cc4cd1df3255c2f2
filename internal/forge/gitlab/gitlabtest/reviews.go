package gitlabtest

import (
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// readApprovals returns who approves now. A withdrawn approval leaves no trace here.
func (c *call) readApprovals() {
	by := []map[string]any{}
	for _, v := range c.Pull.Decisions() {
		if v.Decision != forge.Approved {
			continue
		}
		one := map[string]any{"user": account(v.Login), "approved_at": v.At}
		if c.Untimed {
			delete(one, "approved_at")
		}
		by = append(by, one)
	}
	c.JSON(http.StatusOK, map[string]any{"approved_by": by})
}

func (c *call) listReviewers() {
	states := map[forge.ReviewDecision]string{
		forge.Approved: "approved", forge.ChangesRequested: "requested_changes", forge.Withdrawn: "unapproved",
	}
	pages(c, forgetest.Shapes(c.Pull.Decisions(), func(v forge.Review) map[string]any {
		return map[string]any{"user": account(v.Login), "state": states[v.Decision], "created_at": c.Pull.CreatedAt}
	}))
}

// listVersions returns the newest first.
func (c *call) listVersions() {
	heads := slices.Clone(c.Pull.Heads)
	slices.Reverse(heads)
	pages(c, forgetest.Shapes(heads, func(h forgetest.Head) map[string]any {
		return map[string]any{"id": 1, "head_commit_sha": h.Commit, "created_at": h.At}
	}))
}
