package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// proof returns what is known of the verifications of a carrier, and sets their progress if it is the present one.
func (p *place) proof(c *Carrier, present bool) proof {
	result := proof{done: true}
	for i := range p.rules.Verify {
		g := p.checkProgress(&p.rules.Verify[i], c, present)
		if present {
			p.checks = append(p.checks, g)
		}
		at := g.Last
		switch g.State {
		case CheckPassed:
		case CheckBypassed:
			at = g.Bypass.At
		case CheckFailed:
			if !g.Deadline.IsZero() && (at.IsZero() || at.After(g.Deadline)) {
				at = g.Deadline
			}
			result.failed = result.failed || result.done // those after one that is missing have not begun
			result.done = false
		default:
			result.done = false
		}
		if at.After(result.at) {
			result.at = at
		}
	}
	return result
}

// measure adds the actions of the verification that the commit waits for.
func (p *place) measure(d *Decision) {
	if p.check < 0 {
		return
	}
	c, g := &p.rules.Verify[p.check], &p.checks[p.check]
	if g.State == "" && (c.Timeout != nil || c.Approval != nil || c.Job != nil) {
		d.do(BeginCheck{p.name, p.env.Commit, p.env.Rollout.Commit, c.Name})
	}
	if c.Approval != nil {
		d.Asks = append(d.Asks, fmt.Sprintf("%s waits for approval %q%s", fleet.ShortCommit(p.env.Commit), c.Name, c.who()))
	}
	d.wake(g.Deadline, p.now)
	switch {
	case c.Approval != nil || g.State == CheckRunning:
	case g.Next.After(p.now):
		d.wake(g.Next, p.now)
	default:
		d.do(RunCheck{Environment: p.name, Commit: p.env.Commit, Revision: p.env.Rollout.Commit, Check: *c, Begun: g.Begun, Measured: g.Passed + g.Failed})
	}
}

// bypasses describes the verifications of the commit that were bypassed, also for an earlier rollout of it. It follows a sentence.
func (p *place) bypasses() string {
	text := ""
	for _, b := range p.bypassed() {
		text += fmt.Sprintf("; verification %q was %s", b.Check, &b)
	}
	return text
}

// bypassed returns the bypasses of the commit, without those of verifications that had passed before.
func (p *place) bypassed() []Bypass {
	var all []Bypass
	for _, b := range p.env.Bypasses {
		passed := func(g CheckProgress) bool { return g.Name == b.Check && g.State == CheckPassed && !p.later }
		twice := func(other Bypass) bool { return other.Check == b.Check }
		if !slices.ContainsFunc(p.checks, passed) && !slices.ContainsFunc(all, twice) {
			all = append(all, b)
		}
	}
	return all
}

// deployed returns the status of a deployed commit.
func (p *place) deployed() Status {
	text := "Deployed"
	for _, b := range p.bypassed() {
		text += fmt.Sprintf(", %s %s", b.Check, &b)
	}
	return Status{Success, text}
}

// checkStatuses returns the statuses of verifications to post, on the same commits as those of the environment.
func (p *place) checkStatuses() []Action {
	var actions []Action
	e := p.env
	post := func(at CheckCommit, s Status) {
		if at.Commit != "" && e.CheckStatuses[at] != s {
			actions = append(actions, SetStatus{Environment: p.name, Commit: at.Commit, Check: at.Check, Status: s})
		}
	}
	for i := range p.checks {
		g := &p.checks[i]
		if g.State == "" && p.check != i {
			continue
		}
		want := g.status()
		if p.state == TakenBack && want.State == Pending {
			continue // below, if it was posted
		}
		if !p.later {
			post(CheckCommit{g.Name, e.Commit}, want)
		}
		if e.Head != e.Commit {
			post(CheckCommit{g.Name, e.Head}, want)
		}
	}
	var pending []CheckCommit
	for at, s := range e.CheckStatuses {
		if s.State == Pending {
			pending = append(pending, at)
		}
	}
	slices.SortFunc(pending, func(a, b CheckCommit) int {
		return strings.Compare(a.Commit+" "+a.Check, b.Commit+" "+b.Check)
	})
	for _, at := range pending {
		switch here := at.Commit == e.Commit || at.Commit == e.Head; {
		case !here:
			post(at, p.superseded())
		case p.state == TakenBack:
			post(at, Status{Failure, p.sentence()})
		}
	}
	return actions
}

// status returns the status of a verification.
func (g *CheckProgress) status() Status {
	switch {
	case g.State == CheckBypassed:
		return Status{Success, "B" + strings.TrimPrefix(g.Bypass.String(), "b")}
	case g.State == CheckFailed:
		return Status{Failure, "Failed" + because(g.Reason)}
	case g.State == CheckPassed && len(g.Approvals) > 0:
		return Status{Success, "Approved by " + approvers(g.Approvals)}
	case g.State == CheckPassed:
		text := "Passed" + because(g.Value)
		if g.Expression != "" {
			text += ", " + g.Expression
		}
		return Status{Success, text}
	case g.Kind == "approval":
		return Status{Pending, strings.Join(append([]string{fmt.Sprintf("Waits for approval: %d of %d", g.Passed, g.Required)}, g.Notes...), "; ")}
	case g.Kind == "commitStatus":
		return Status{Pending, "Waits" + because(g.Reason)}
	case g.Kind == "job" && g.Reason != "":
		return Status{Pending, "Running jobs: " + g.Reason}
	case g.Required > 1 || g.Failed > 0:
		return Status{Pending, fmt.Sprintf("Measuring: %d of %d passed, %d failed", g.Passed, g.Required, g.Failed)}
	}
	return Status{Pending, "Measuring"}
}

func approvers(all []Approval) string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.By
	}
	return strings.Join(names, ", ")
}
