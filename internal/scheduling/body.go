package scheduling

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/bundle"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/plan"
)

// wanted is what the change request of an environment should be.
type wanted struct {
	title  string
	status forge.Status
	mark   mark

	plan   *plan.Plan
	inputs Inputs
	// base is the branch that it is merged into.
	base  string
	limit int
}

// mark is the machine-readable part of a body: which inputs a change was made from, and what was done for it.
type mark struct {
	Environment string `json:"environment"`
	// Digest identifies the wanted files, whatever lies beside them.
	Digest string `json:"digest"`
	// Base is the commit of the GitOps branch that Commit was made on.
	Base   string `json:"base"`
	Commit string `json:"commit"`
	// Deletions is the state of the status about removals.
	Deletions forge.StatusState `json:"deletions"`
	// Merging is the commit that the forge was asked to merge by itself; empty when it was not.
	Merging string `json:"merging,omitempty"`
	// Inputs are the commits of the sources by name.
	Inputs map[string]string `json:"inputs"`
}

// markPrefix begins the marker line of a body.
const markPrefix = "kalypso:"

// markOf reads the mark of a body; the zero value when it has none, or one that is broken.
func markOf(body string) mark {
	var m mark
	for line := range strings.Lines(body) {
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "<!-- "), " -->")
		if data, ok := strings.CutPrefix(text, markPrefix); ok && json.Unmarshal([]byte(data), &m) != nil {
			return mark{}
		}
	}
	return m
}

// String is the marker. What would end the comment that holds it, or be shortened in it, is escaped as JSON allows.
func (m mark) String() string {
	data, err := json.Marshal(m)
	if err != nil {
		return markPrefix + "{}" // cannot happen: a mark holds nothing but texts
	}
	return markPrefix + strings.NewReplacer("--", `-\u002d`, " ", `\u0020`).Replace(string(data))
}

// wanted computes what the change should say.
func (r *round) wanted(environment string) wanted {
	limits := r.host.Limits()
	w := wanted{
		title:  forge.OneLine(r.outcome.Plan.Title(), limits.Title),
		status: r.deletionStatus(),
		mark: mark{
			Environment: environment,
			Digest:      digest(r.bundle),
			Base:        r.gitops.Commit,
			Inputs:      map[string]string{},
		},
		plan:   r.outcome.Plan,
		inputs: r.loaded.Inputs,
		base:   r.gitops.Location.Branch,
		limit:  limits.Body,
	}
	w.mark.Deletions = w.status.State
	for _, input := range r.loaded.Inputs.all() {
		if input.Commit != "" {
			w.mark.Inputs[input.Name] = input.Commit
		}
	}
	return w
}

// deletionStatus says whether the removals are within the budget, or agreed to by a label.
func (r *round) deletionStatus() forge.Status {
	s := forge.Status{Context: StatusDeletions, State: forge.Success}
	p := r.outcome.Plan
	switch {
	case len(p.Refusals) == 0:
		s.Description = fmt.Sprintf("%d removals, within the budget of %d", p.Budget.Removals, p.Budget.Allowed)
	case r.open != nil && r.open.HasLabel(LabelAllowDeletions):
		s.Description = fmt.Sprintf("%d removals, agreed to by the label %s", p.Budget.Removals, LabelAllowDeletions)
	default:
		s.State = forge.Failure
		s.Description = fmt.Sprintf("%s; the label %s agrees", p.Refusals[0].Message, LabelAllowDeletions)
	}
	s.Description = forge.OneLine(s.Description, r.host.Limits().StatusDescription)
	return s
}

// body is the plan, and below it the inputs and the mark.
func (w wanted) body() string {
	tail := w.footer()
	room := 0
	if w.limit > 0 {
		room = max(w.limit-len(tail)-len(w.mark.String())-20, 200)
	}
	p := *w.plan
	p.After, p.Before = "the control plane", "the branch "+w.base
	p.Refusals = w.refusals()
	text := p.Markdown(plan.MarkdownOptions{Diffs: true, Limit: room}) + tail
	return forge.Mark(text, w.mark.String(), w.limit)
}

// refusals say what waits for a person, and how to agree; none when somebody has agreed.
func (w wanted) refusals() []plan.Refusal {
	if w.status.State == forge.Success {
		return nil
	}
	refusals := slices.Clone(w.plan.Refusals)
	for i := range refusals {
		refusals[i].Message += "; the label " + LabelAllowDeletions + " agrees"
	}
	return refusals
}

// footerPrefix begins the line that names the inputs. They change without anything else changing.
const footerPrefix = "<sub>Scheduled by Kalypso from "

func (w wanted) footer() string {
	var b strings.Builder
	if len(w.plan.Refusals) > 0 && w.status.State == forge.Success {
		fmt.Fprintf(&b, "\nThe removals are agreed to by the label `%s`.\n", LabelAllowDeletions)
	}
	fmt.Fprintf(&b, "\nMerging it publishes it: clusters follow `%s`. It is kept up to date while it is open, and what others push to its branch is replaced. "+
		"Closed, it stays closed until there is something else to propose.\n", fence(w.base))
	fmt.Fprintf(&b, "\n%s`%s`.</sub>\n", footerPrefix, fence(w.inputs.String()))
	return b.String()
}

// sameBody reports whether two bodies say the same, whatever inputs they were made from.
// Forges may change line ends and the space around a text.
func sameBody(is, want string) bool {
	return strings.Join(essence(is), "\n") == strings.Join(essence(want), "\n") && markOf(is).essence() == markOf(want).essence()
}

func essence(body string) []string {
	var lines []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, footerPrefix) && !strings.HasPrefix(line, "<!-- "+markPrefix) {
			lines = append(lines, line)
		}
	}
	return lines
}

// essence is a mark without the inputs.
func (m mark) essence() string {
	m.Inputs = nil
	return m.String()
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
