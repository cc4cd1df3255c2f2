package githubtest

import (
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// reviewOf returns a review. One that was dismissed is not what it was before.
func reviewOf(v *forgetest.Review) object {
	state := map[forge.ReviewDecision]string{
		"": "COMMENTED", forge.Approved: "APPROVED", forge.ChangesRequested: "CHANGES_REQUESTED", forge.Withdrawn: "DISMISSED",
	}[v.Decision]
	return object{
		"id": v.ID, "user": userOf(v.Login), "state": state, "commit_id": v.Commit, "submitted_at": v.At, "html_url": v.URL, "body": "",
	}
}

func (c *call) listReviews() {
	page(c, forgetest.Shapes(c.Pull.Reviews, reviewOf))
}
