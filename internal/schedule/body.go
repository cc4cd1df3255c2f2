package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// wanted is what the text of a change is made of.
type wanted struct {
	plan   *plan.Plan
	inputs Inputs
	// base is the branch that it is merged into.
	base string
	// agreed is that nothing waits for a person.
	agreed bool
	// findings are those of the checks.
	findings []check.Finding
}

// deletionStatus says whether the removals are within the budget, or agreed to by a label.
func (r *round) deletionStatus() forge.Status {
	s := forge.Status{Context: StatusDeletions, State: forge.Success}
	p := r.outcome.Plan
	switch {
	case len(p.Refusals) == 0:
		s.Description = fmt.Sprintf("%d removals, within the budget of %d", p.Budget.Removals, p.Budget.Allowed)
	case r.living.Open != nil && r.living.Open.HasLabel(LabelAllowDeletions):
		s.Description = fmt.Sprintf("%d removals, agreed to by the label %s", p.Budget.Removals, LabelAllowDeletions)
	default:
		s.State = forge.Failure
		s.Description = fmt.Sprintf("%s; the label %s agrees", p.Refusals[0].Message, LabelAllowDeletions)
	}
	return s
}

// body is the plan, and below it the inputs, in at most a number of characters; 0 is any.
func (w wanted) body(room int) string {
	tail := check.Markdown(w.findings) + w.footer()
	if room > 0 {
		room = max(room-len(tail), 200)
	}
	p := *w.plan
	p.After, p.Before = "the control plane", "the branch "+w.base
	p.Refusals = w.refusals()
	return p.Markdown(plan.MarkdownOptions{Diffs: true, Limit: room}) + tail
}

// refusals say what waits for a person, and how to agree; none when somebody has agreed.
func (w wanted) refusals() []plan.Refusal {
	if w.agreed {
		return nil
	}
	refusals := slices.Clone(w.plan.Refusals)
	for i := range refusals {
		refusals[i].Message += "; the label " + LabelAllowDeletions + " agrees"
	}
	return refusals
}

func (w wanted) footer() string {
	var b strings.Builder
	if len(w.plan.Refusals) > 0 && w.agreed {
		fmt.Fprintf(&b, "\nThe removals are agreed to by the label `%s`.\n", LabelAllowDeletions)
	}
	fmt.Fprintf(&b, "\nMerging it publishes it: clusters follow %s. It is kept up to date while it is open, and what others push to its branch is replaced. "+
		"Closed, it stays closed until there is something else to propose.\n", markdown.Code(w.base))
	fmt.Fprintf(&b, "\n%sScheduled by Kalypso from %s.</sub>\n", pullrequest.SourcePrefix, markdown.Code(w.inputs.String()))
	return b.String()
}

// digest identifies the files that a bundle wants.
func digest(b *bundle.Bundle) string {
	h := sha256.New()
	b.Files(func(f bundle.File) bool {
		h.Write([]byte(f.Path))
		h.Write([]byte{0})
		h.Write(f.Hash[:])
		return true
	})
	return hex.EncodeToString(h.Sum(nil)[:16])
}
