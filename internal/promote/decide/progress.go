package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// CheckResult is what is recorded of a verification of a rollout: that it began, or a measurement.
type CheckResult struct {
	Name string // required, as in the rules
	// Revision is the verified commit of the GitOps branch.
	Revision string // required
	State    CheckState
	// Value is the answer in short. Reason explains a failure, or what is waited for.
	Value, Reason string
	At            time.Time
}

// CheckState is the state of a verification, or of one measurement.
type CheckState string

// The states of a verification. A measurement that was interrupted is not recorded, and repeated.
const (
	// CheckBegun is recorded when a verification begins.
	CheckBegun CheckState = "begun"
	// CheckRunning means that a measurement is running.
	CheckRunning CheckState = "running"
	// CheckWaiting means that the verification waits for its next measurement, for a status or for users.
	CheckWaiting  CheckState = "waiting"
	CheckPassed   CheckState = "passed"
	CheckFailed   CheckState = "failed"
	CheckBypassed CheckState = "bypassed"
)

// Bypass is a user's command to do without a verification of a commit.
type Bypass struct {
	Check string    `json:"check"`
	By    string    `json:"by"`
	Why   string    `json:"why,omitempty"`
	At    time.Time `json:"at"`
}

// String describes the bypass as the end of a sentence.
func (b *Bypass) String() string { return "bypassed by " + b.By + because(b.Why) }

// Approval is the approval of a commit by a user.
type Approval struct {
	Check string `json:"check"`
	By    string `json:"by"`
	// Groups are those of the verification's groups that the user was in.
	Groups []string  `json:"groups,omitempty"`
	Why    string    `json:"why,omitempty"`
	At     time.Time `json:"at"`
	// Forge, Login and URL are those of the review of a pull request; empty for an approval on a page or by a command.
	Forge string `json:"forge,omitempty"`
	Login string `json:"login,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Review is a review of the pull requests that made a rollout, on their forge. It is an approval for every verification of the rollout
// that waits for one, unless it asks for changes. At is zero if the forge does not tell when it was made.
type Review struct {
	Approval
	// ChangesRequested means that the rollout is held: the user asks for changes.
	ChangesRequested bool
	// Ignored explains why the review does not count; empty if it does.
	Ignored string
	// Commit is the head of the pull request that was reviewed.
	Commit string
}

// CheckCommit is a verification and a commit with its status.
type CheckCommit struct{ Check, Commit string }

// CheckProgress is how far a verification of a rollout is, and why.
type CheckProgress struct {
	Name string `json:"name"`
	// Kind is http, command, prometheus, commitStatus, job or approval.
	Kind string `json:"kind"`
	// State is empty before the verification begins.
	State CheckState `json:"state,omitempty"`
	// Reason explains a failure, or what is waited for.
	Reason string `json:"reason,omitempty"`
	// Value is the last answer in short, and Expression what it has to satisfy.
	Value      string `json:"value,omitempty"`
	Expression string `json:"expression,omitempty"`
	// Passed and Failed count measurements, or approvals. Required is how many must pass, Allowed how many may fail.
	Passed   int `json:"passed,omitempty"`
	Failed   int `json:"failed,omitempty"`
	Required int `json:"required"`
	Allowed  int `json:"allowed,omitempty"`
	// Begun is when the first thing about it was recorded, and Deadline when its timeout ends.
	Begun    time.Time `json:"begun,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
	// Last is when the last measurement was recorded, and Next when the next one is due.
	Last time.Time `json:"last,omitzero"`
	Next time.Time `json:"next,omitzero"`
	// Notes explain which reviews on the forge hold the verification, or do not count.
	Notes []string `json:"notes,omitempty"`
	// Bypass is the command that bypassed it; optional. Approvals are those that count.
	Bypass    *Bypass    `json:"bypass,omitempty"`
	Approvals []Approval `json:"approvals,omitempty"`
}

// done reports whether the result is final.
func (g *CheckProgress) done() bool {
	return g.State == CheckPassed || g.State == CheckFailed || g.State == CheckBypassed
}

// checkProgress reads how far a verification is from what is recorded. A result is final: later measurements do not change it.
func (p *place) checkProgress(c *Check, of *Carrier, present bool) CheckProgress {
	g := CheckProgress{
		Name: c.Name, Kind: c.Kind(), Required: c.required(), Allowed: c.FailureLimit, Expression: c.text(), Bypass: p.bypass(c.Name, of),
	}
	for _, m := range of.Checks {
		if m.Name == c.Name && m.Revision == of.Revision {
			g.add(c, m)
		}
	}
	if c.Approval != nil {
		p.countApprovals(c, &g, of, present)
	}
	switch {
	case g.State == CheckPassed || g.State == CheckFailed && g.Bypass == nil:
		g.Bypass = nil
	case g.Bypass != nil:
		g.State, g.Reason = CheckBypassed, g.Bypass.String()
	case c.Approval != nil && present && p.env.ReviewsUnknown != "":
		// An approval on the forge may have been in time.
	case !g.Deadline.IsZero() && !p.now.Before(g.Deadline):
		g.State, g.Reason = CheckFailed, "timed out after "+span(c.Timeout.Duration)+because(g.Reason)
	}
	return g
}

// add adds what is recorded. Measurements after the end of the verification do not count, and neither does a second one
// within half an interval, which another server made.
func (g *CheckProgress) add(c *Check, m CheckResult) {
	if m.State == CheckRunning {
		if !g.done() {
			g.State = CheckRunning
		}
		return
	}
	if g.Begun.IsZero() && !m.At.IsZero() {
		g.Begun = m.At
		if c.Timeout != nil {
			g.Deadline = m.At.Add(c.Timeout.Duration)
		}
	}
	late := !g.Deadline.IsZero() && m.At.After(g.Deadline) || g.Bypass != nil && m.At.After(g.Bypass.At)
	again := !g.Last.IsZero() && m.At.Before(g.Last.Add(c.Every()/2)) && m.State != CheckWaiting
	if m.State == CheckBegun || g.done() || late || again {
		if g.State == "" {
			g.State = CheckWaiting
		}
		return
	}
	if m.State == CheckWaiting {
		g.State, g.Reason = CheckWaiting, m.Reason
		return
	}
	g.Last, g.Value, g.Next = m.At, m.Value, m.At.Add(c.Every())
	if m.State == CheckPassed {
		g.Passed++
	} else {
		g.Failed++
	}
	g.conclude(m.Reason)
}

// conclude sets the state after a measurement.
func (g *CheckProgress) conclude(reason string) {
	switch {
	case g.Passed >= g.Required:
		g.State, g.Reason, g.Next = CheckPassed, "", time.Time{}
	case g.Failed > g.Allowed && g.Allowed == 0:
		g.State, g.Reason = CheckFailed, reason
	case g.Failed > g.Allowed:
		g.State, g.Reason = CheckFailed, fmt.Sprintf("%d measurements failed, and %d may; the last one: %s", g.Failed, g.Allowed, reason)
	default:
		g.State, g.Reason = CheckWaiting, fmt.Sprintf("%d of %d measurements passed", g.Passed, g.Required)
		if g.Failed > 0 {
			g.Reason += fmt.Sprintf(", %d failed, and %d may", g.Failed, g.Allowed)
		}
		if reason != "" {
			g.Reason += because(reason)
		}
	}
}

// countApprovals counts the approvals of different users who may approve: those that are recorded, and reviews on the forge.
func (p *place) countApprovals(c *Check, g *CheckProgress, of *Carrier, present bool) {
	authors := p.authors[of.Commit]
	late := func(at time.Time) bool {
		return !g.Deadline.IsZero() && at.After(g.Deadline) || g.Bypass != nil && at.After(g.Bypass.At)
	}
	var approvals []Approval
	for _, a := range of.Approvals {
		if a.Check == c.Name && !late(a.At) && !p.stale(a.At) && c.Refuses(a.By, a.Groups, authors) == "" {
			approvals = append(approvals, a)
		}
	}
	held := false
	for _, v := range of.Reviews {
		why := v.Ignored
		if why == "" && late(v.At) {
			why = fmt.Sprintf("the review of %s came too late", v.By)
		}
		if why == "" {
			why = c.Refuses(v.By, v.Groups, authors)
		}
		switch {
		case why != "":
			g.Notes = append(g.Notes, why)
		case v.ChangesRequested && !v.takenBack(approvals):
			held = true
			g.Notes = slices.Insert(g.Notes, 0, fmt.Sprintf("%s requested changes%s", v.By, at(v.URL)))
		case !v.ChangesRequested:
			v.Check = c.Name
			v.Groups = slices.DeleteFunc(slices.Clone(v.Groups), func(group string) bool { return !slices.Contains(c.Approval.Groups, group) })
			approvals = append(approvals, v.Approval)
		}
	}
	slices.SortStableFunc(approvals, func(a, b Approval) int { return a.At.Compare(b.At) })
	for _, a := range approvals {
		again := slices.ContainsFunc(g.Approvals, func(b Approval) bool { return strings.EqualFold(a.By, b.By) })
		if g.Passed < g.Required && !again {
			g.Approvals, g.Last = append(g.Approvals, a), a.At
			g.Passed++
		}
	}
	if present && p.env.ReviewsUnknown != "" {
		g.Notes = append(g.Notes, "the reviews on the forge are not known: "+p.env.ReviewsUnknown)
	}
	if more := len(g.Notes) - maxNotes; more > 0 {
		g.Notes = append(g.Notes[:maxNotes], fmt.Sprintf("%d more reviews do not count", more))
	}
	switch {
	case g.Passed == g.Required && !held:
		g.State, g.Reason, g.Notes = CheckPassed, "", nil
	case g.State != "" || len(g.Notes) > 0:
		g.Reason = strings.Join(append([]string{fmt.Sprintf("%d of %d approvals%s", g.Passed, g.Required, c.who())}, g.Notes...), "; ")
	}
}

// maxNotes is how many reviews are named that do not count.
const maxNotes = 3

// takenBack reports whether the user approved the commit after the review, on a page or by a command. A review without a time is older.
func (v *Review) takenBack(approvals []Approval) bool {
	return slices.ContainsFunc(approvals, func(a Approval) bool { return a.Forge == "" && strings.EqualFold(a.By, v.By) && a.At.After(v.At) })
}

// who describes the users who may approve.
func (c *Check) who() string {
	text := ""
	if groups := c.Approval.Groups; len(groups) > 0 {
		text = " by members of " + strings.Join(groups, " or ")
	}
	if c.Approval.NotAuthor {
		text += ", not by the author"
	}
	return text
}

// Refuses returns why a user in groups may not approve a commit of authors; empty if the user may.
func (c *Check) Refuses(by string, groups, authors []string) string {
	in := func(group string) bool { return slices.Contains(groups, group) }
	author := func(name string) bool { return strings.EqualFold(name, by) }
	switch a := c.Approval; {
	case len(a.Groups) > 0 && !slices.ContainsFunc(a.Groups, in):
		return fmt.Sprintf("%q is approved by members of %s", c.Name, strings.Join(a.Groups, " or "))
	case a.NotAuthor && len(authors) == 0:
		return "the author of the commit is not known, and must not be the one who approves it"
	case a.NotAuthor && slices.ContainsFunc(authors, author):
		return by + " is the author of the commit, who must not be the one who approves it"
	}
	return ""
}

// bypass returns the first command to bypass a verification of a carrier, or nil.
func (p *place) bypass(check string, of *Carrier) *Bypass {
	for i := range of.Bypasses {
		if b := &of.Bypasses[i]; b.Check == check && !p.stale(b.At) {
			return b
		}
	}
	return nil
}

// stale reports whether a command is about an earlier carrier of the commit, and not about a later change of the environment.
func (p *place) stale(at time.Time) bool { return !p.staleBefore.IsZero() && !at.After(p.staleBefore) }
