package query

import (
	"reflect"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// maxListed limits the lists in the answer about one application.
const maxListed = 100

// Round is what a round of an application's chain found.
type Round struct {
	ControlPlane string // required
	// Request names the application, with its workload. // required
	Request deliver.Request
	// Found is the result; nil if there is none.
	Found *deliver.Delivered
	// Err is why it failed.
	Err error
	// At is the time of the round.
	At time.Time // required
}

// Delivered returns an application after a round. Whatever the round could not determine is carried over from was, the
// application before it, which may be nil and is not changed.
func Delivered(r Round, was *Application) *Application {
	a := &Application{
		Name: r.Request.Workload, Subject: deliver.SubjectOf(r.Request.Source, r.Request.Workload), Workspace: r.Request.Workspace,
		ControlPlane: r.ControlPlane, Environments: []ApplicationEnvironment{},
		Source: Branch{Repository: secret.Redact(r.Request.Source), Branch: r.Request.Branch, Path: r.Request.Path},
		Error:  errorLine(r.Err), LastRound: utc(r.At),
	}
	if r.Found == nil || r.Found.Promotion == nil {
		a.keep(was)
		return a
	}
	a.Source.Commit, a.Title = r.Found.App.Source.Commit, titleOf(r.Found.Commits, r.Found.App.Source.Commit)
	a.Line, a.ProblemList = r.Found.Commits, r.Found.Promotion.Problems
	for _, p := range a.ProblemList {
		a.Problems.add(p.Severity)
	}
	for i := range r.Found.Promotion.Environments {
		s := &r.Found.Promotion.Environments[i]
		e := deliveredTo(s, r.Found, was.environment(s.Environment))
		a.Problems.Errors += e.Problems.Errors
		a.Problems.Warnings += e.Problems.Warnings
		a.Problems.Notices += e.Problems.Notices
		a.Environments = append(a.Environments, e)
	}
	return a
}

// Same reports whether an application is unchanged, apart from the time of the round.
func (a *Application) Same(was *Application) bool {
	if a == nil || was == nil {
		return a == was
	}
	then := *was
	then.LastRound = a.LastRound
	return reflect.DeepEqual(*a, then)
}

// errorLine returns an error in one line without credentials.
func errorLine(err error) string {
	if err == nil {
		return ""
	}
	return secret.Line(secret.Redact(err.Error()))
}

// keep copies the results of the previous round.
func (a *Application) keep(was *Application) {
	if was == nil {
		return
	}
	a.Source.Commit, a.Title, a.Line, a.Environments = was.Source.Commit, was.Title, was.Line, was.Environments
	a.Problems, a.ProblemList = was.Problems, was.ProblemList
}

// environment returns an environment of the application, or nil.
func (a *Application) environment(name string) *ApplicationEnvironment {
	if a == nil {
		return nil
	}
	if i := slices.IndexFunc(a.Environments, func(e ApplicationEnvironment) bool { return e.Environment == name }); i >= 0 {
		return &a.Environments[i]
	}
	return nil
}

// deliveredTo returns an application's environment after a round.
func deliveredTo(s *promote.Standing, found *deliver.Delivered, was *ApplicationEnvironment) ApplicationEnvironment {
	var e ApplicationEnvironment
	detail := e.detail()
	e.Detail = &detail
	o, err := found.Environments[s.Environment], found.Errors[s.Environment]
	switch {
	case err == nil && o != nil:
		e.addOutcome(s.Environment, o)
	case was != nil: // files, pull request and problems of the last successful round
		detail = was.detail()
		e = *was
		e.Detail = &detail
	}
	e.Environment, e.After, e.Error = s.Environment, s.After, errorLine(err)
	e.addStanding(s, found)
	return e
}

// detail returns a copy of the detail, with empty lists by default.
func (e *ApplicationEnvironment) detail() ApplicationEnvironmentDetail {
	if e.Detail != nil {
		return *e.Detail
	}
	return ApplicationEnvironmentDetail{
		ProblemList: []fleet.Problem{}, Findings: []check.Finding{}, HeldList: []HeldTarget{}, DriftList: []string{},
		Unreached: []comply.Reconciler{}, Details: detailsOf(&promote.Standing{}),
	}
}

// addStanding adds the state of promotion.
func (e *ApplicationEnvironment) addStanding(s *promote.Standing, found *deliver.Delivered) {
	e.Phase, e.Reason, e.Since, e.Behind = s.Phase, s.Reason, utc(s.Since), s.Behind
	e.Targets = s.Targets
	was := e.Build
	e.Build, e.Candidate = nil, nil
	switch {
	case s.Commit == "":
	case found.Errors[s.Environment] != nil && was != nil && was.Commit == s.Commit:
		e.Build = was
	default:
		b := found.Build(s.Environment, s.Commit)
		e.Build = &b
	}
	if b, ok := found.Candidates[s.Environment]; ok {
		e.Candidate = &b
	}
	e.Title, e.Paused, e.Gate = titleOf(found.Commits, s.Commit), s.Pause, gateOf(s.Verdict)
	if e.Gate != nil {
		e.Gate.SourceCommit = s.Commit
	}
	e.Detail.Details, e.Detail.Unreached = detailsOf(s), worst(s.Verdict.Reconcilers, maxListed)
	if e.Detail.Unreached == nil {
		e.Detail.Unreached = []comply.Reconciler{}
	}
}

// addOutcome adds the result of the environment's round.
func (e *ApplicationEnvironment) addOutcome(environment string, o *deliver.Outcome) {
	if o.GitOps != nil {
		at := o.GitOps.Location
		e.GitOps = &GitOps{
			Repository: ledger.CleanRepository(at.Repo), URL: secret.Redact(at.Repo), Branch: at.Branch, Path: at.Path,
			Commit: o.GitOps.Commit, Committed: utc(o.GitOps.Time),
		}
		if b := o.GitOps.Build; b.Commit != "" {
			e.Published = &b
		}
		e.Detail.Pinned = o.GitOps.Pinned()
		e.Pinned = len(e.Detail.Pinned)
	}
	if o.App != nil {
		said, _ := o.App.Delivery.Environment(environment)
		e.AutoMerge = said.AutoMerge
	}
	e.Change = changeOf(o.PullRequest, o.Waits)
	if o.Draft != nil {
		e.addDraft(o.Draft)
	}
}

// addDraft adds the next change with its problems and findings.
func (e *ApplicationEnvironment) addDraft(d *deliver.Draft) {
	if c := d.Config; c != nil {
		e.Configuration = &Branch{Repository: secret.Redact(c.Location.Repo), Branch: c.Location.Branch, Path: c.Location.Path, Commit: c.Input.Commit}
	}
	for _, f := range d.Findings {
		e.Findings.add(f.Level)
	}
	e.Detail.Findings = append(e.Detail.Findings, d.Findings[:min(len(d.Findings), maxListed)]...)
	if d.Plan == nil {
		return
	}
	for _, p := range d.Plan.Problems {
		e.Problems.add(p.Severity)
	}
	e.Held, e.Drift = d.Plan.Counts.Held, len(d.Plan.Drift)
	e.Detail.addPlan(d.Plan)
}

// addPlan adds a summary of the change.
func (d *ApplicationEnvironmentDetail) addPlan(p *deliver.Plan) {
	d.ProblemList = append(d.ProblemList, p.Problems[:min(len(p.Problems), maxListed)]...)
	for _, t := range p.Targets {
		if t.Op == plan.Held && len(d.HeldList) < maxListed {
			d.HeldList = append(d.HeldList, HeldTarget{Target: t.Name, Reason: t.Reason})
		}
	}
	d.Requests = append(d.Requests, p.Requests[:min(len(p.Requests), maxListed)]...)
	for _, drift := range p.Drift[:min(len(p.Drift), maxListed)] {
		d.DriftList = append(d.DriftList, drift.Path)
	}
	d.KeepsDrift = p.KeepsDrift
	if p.Files > 0 || len(p.Refusals) > 0 {
		d.Plan = &DeliveryPlan{
			Title: p.Title(), Promotes: p.Promotes(), Counts: p.Counts, Files: p.Files, Budget: p.Budget, Refusals: p.Refusals,
		}
	}
}

// add counts a finding.
func (c *FindingCounts) add(l check.Level) {
	switch l {
	case check.Refuse:
		c.Refuse++
	case check.Warn:
		c.Warn++
	case check.Inform:
		c.Inform++
	}
}
