package query

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// application adds the needs of an application in all its environments.
func (s *needs) application(a *Application) {
	all := UserNeed{ControlPlane: a.ControlPlane, Application: a.Name, Subject: a.Subject, Environments: []string{}}
	at := Unsure{ControlPlane: a.ControlPlane, Application: a.Name}
	switch {
	case a.Error != "":
		at.Text = "the last round failed: " + a.Error
		s.unknown(at)
	case a.LastRound.IsZero():
		at.Text = "its repositories have not been read yet"
		s.unknown(at)
	}
	s.problems(all, a.ProblemList)
	for i := range a.Environments {
		e := &a.Environments[i]
		n := all
		n.Environments = []string{e.Environment}
		if e.Error != "" {
			at.Environment, at.Text = e.Environment, "the last round failed: "+e.Error
			s.unknown(at)
		}
		if e.Build != nil {
			n.Commit = e.Build.Commit
		}
		s.delivery(n, e)
	}
}

// delivery adds the needs of an application in one environment.
func (s *needs) delivery(n UserNeed, e *ApplicationEnvironment) {
	detail := e.detail()
	if g := e.Gate; g != nil {
		s.causes(n, &comply.Verdict{Result: g.Result}, g.Causes)
	}
	s.verifications(n, e.Phase, detail.Checks)
	for _, o := range detail.Proposals {
		if o.State == decide.ProposalOpen {
			one := n
			one.Kind, one.Action, one.Commit, one.PullRequest = NeedPromotion, ActMerge, o.Commit, &Change{URL: o.URL}
			one.Text = fmt.Sprintf("The promotion of %s to %s waits to be merged", n.Application, n.Environments[0])
			s.add(one)
		}
	}
	if e.Paused != nil {
		s.paused(n, e.Paused)
	}
	n.Commit = ""
	pending := pendingFiles{findings: e.Findings}
	if e.Phase == decide.TakenBack {
		pending.aborted = e.Reason
	}
	if p := detail.Plan; p != nil {
		pending.refusals, pending.removals = p.Refusals, p.Counts.Removed
	}
	s.pullRequest(n, e.Change, pending)
	s.problems(n, detail.ProblemList)
}
