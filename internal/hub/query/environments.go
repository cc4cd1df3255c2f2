package query

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/natural"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Environments returns the environments: those of one control plane together, in the order of its chain.
func (o *Observer) Environments(ctx context.Context, q EnvironmentsQuery) (Page[Environment], error) {
	if err := o.knows(q.AsOf); err != nil {
		return Page[Environment]{Items: []Environment{}}, err
	}
	all, err := o.everywhere(ctx, q.AsOf)
	if err != nil {
		return Page[Environment]{Items: []Environment{}}, err
	}
	all = slices.DeleteFunc(all, func(s standing) bool { return q.ControlPlane != "" && !repourl.Same(s.controlPlane, q.ControlPlane) })
	chosen, err := cut(all, q.Paging, func(s *standing) string { return key(s.controlPlane, fmt.Sprintf("%04d", s.order), s.name) })
	page := Page[Environment]{Items: []Environment{}, Next: chosen.Next}
	if err != nil {
		return page, err
	}
	verdicts := o.verdicts(q.AsOf)
	for _, s := range chosen.Items {
		sc, err := o.environmentView(ctx, s, targetFilter{}, q.AsOf)
		if err != nil {
			return page, err
		}
		verdict, err := verdicts.verdict(ctx, s)
		if err != nil {
			return page, err
		}
		e, err := o.summary(ctx, sc, verdict, q.AsOf)
		if err != nil {
			return page, err
		}
		for i := range e.Rings {
			e.Rings[i].BatchList, e.Rings[i].Targets = nil, nil
		}
		page.Items = append(page.Items, e)
	}
	return page, nil
}

// summary returns the summary of an environment.
func (o *Observer) summary(ctx context.Context, sc *environmentView, verdict comply.Verdict, asOf time.Time) (Environment, error) {
	e, err := o.named(ctx, sc, asOf)
	e.Counts, e.LastRound, e.Gate, e.WithoutClusters = sc.counts(), utc(sc.lastRound), sc.gate(verdict), sc.withoutClusters()
	e.addScheduled(sc.scheduled)
	if err == nil && asOf.IsZero() {
		e.Health, err = o.health(ctx, sc, &verdict)
	}
	return e, err
}

// gate converts a verdict and adds its promoted commit. While a commit is only proposed, that is the one before.
func (sc *environmentView) gate(verdict comply.Verdict) *Gate {
	g := gateOf(verdict)
	if g == nil {
		return nil
	}
	if p := sc.promotion; p != nil && p.Verdict.Commit == g.Commit && isCurrent(p) {
		g.SourceCommit = p.Commit
		return g
	}
	for _, head := range sc.heads {
		if head.Kind == ledger.BranchPlatform && head.SHA == g.Commit {
			g.SourceCommit = head.SourceCommit
		}
	}
	return g
}

// isCurrent reports whether a verdict is about the environment's commit. That of rings is about the commit before while this one is only
// proposed.
func isCurrent(p *promote.Standing) bool {
	return len(p.Rings) == 0 || p.Verdict.Commit == p.Rollout.Commit
}

// named returns an environment with its commit and phase.
func (o *Observer) named(ctx context.Context, sc *environmentView, asOf time.Time) (Environment, error) {
	e := Environment{Name: sc.name, ControlPlane: sc.controlPlane}
	if sc.promotion != nil {
		e.addPromotion(sc.promotion)
	} else if err := o.addRecorded(ctx, &e, &sc.standing, asOf); err != nil {
		return e, err
	}
	e.addHead(sc.heads)
	e.Title = titleOf(sc.line, e.Commit)
	return e, nil
}

// addPromotion adds the result of the last round.
func (e *Environment) addPromotion(p *promote.Standing) {
	e.Commit, e.Candidate, e.Phase, e.Reason, e.After, e.Since = p.Commit, p.Candidate, p.Phase, p.Reason, p.After, utc(p.Since)
	if p.GitOps.Repo != "" {
		e.GitOps = &GitOps{
			Repository: ledger.CleanRepository(p.GitOps.Repo), Branch: p.GitOps.Branch, Path: p.GitOps.Path, Commit: p.Rollout.Commit,
		}
	}
	e.Paused, e.Rings = p.Pause, RingsOf(p.Rings)
}

// addRecorded adds the last decision and pause in the ledger.
func (o *Observer) addRecorded(ctx context.Context, e *Environment, s *standing, asOf time.Time) error {
	last := func(kind decide.StepKind) (*ledger.Step, error) {
		steps, err := o.platformSteps(ctx, s, ledger.StepQuery{Environment: e.Name, Kind: string(kind), To: until(asOf), Limit: 1})
		if err != nil || len(steps) == 0 {
			return nil, err
		}
		return &steps[0], nil
	}
	e.Phase = decide.Unknown
	decided, err := last(promote.StateChanged)
	if err != nil {
		return err
	}
	if decided != nil {
		var detail promote.Detail
		if err := json.Unmarshal(decided.Detail, &detail); err == nil && detail.Phase != "" {
			e.Phase = detail.Phase
		}
		e.Reason, e.Candidate, e.Since = decided.Reason, detail.Candidate, utc(decided.At)
		if decided.Commit != promote.EveryCommit {
			e.Commit = decided.Commit
		}
	}
	if !asOf.IsZero() {
		if err := o.addRecordedRings(ctx, e, s, asOf); err != nil {
			return err
		}
	}
	paused, err := last(promote.Paused)
	if err != nil || paused == nil {
		return err
	}
	resumed, err := last(promote.Resumed)
	if err == nil && (resumed == nil || resumed.At.Before(paused.At)) {
		e.Paused = &decide.Pause{By: paused.By, Why: paused.Reason, At: utc(paused.At)}
	}
	return err
}

// maxRecordedRings is how many decisions about rings are read, the newest first.
const maxRecordedRings = 1000

// addRecordedRings adds the rings at a time in the past, by name: their commits and phases. How many clusters they
// had is not recorded.
func (o *Observer) addRecordedRings(ctx context.Context, e *Environment, s *standing, asOf time.Time) error {
	steps, err := o.platformSteps(ctx, s, ledger.StepQuery{
		Environment: e.Name, Parts: true, Kind: string(promote.StateChanged), To: until(asOf), Limit: maxRecordedRings,
	})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var stages []promote.RingStanding
	for _, step := range steps {
		_, stage := decide.SplitRing(step.Environment)
		if stage == "" || seen[stage] {
			continue
		}
		seen[stage] = true
		var detail promote.Detail
		if err := json.Unmarshal(step.Detail, &detail); err != nil {
			continue // written by another program
		}
		stages = append(stages, promote.RingStanding{
			Name: stage, Ring: fleet.RingOfStage(stage), Branch: fleet.RingBranch(e.Name, stage), Phase: detail.Phase, Commit: step.Commit,
			Candidate: detail.Candidate, Reason: step.Reason, Since: step.At,
		})
	}
	slices.SortFunc(stages, func(a, b promote.RingStanding) int { return strings.Compare(a.Name, b.Name) })
	e.Rings = RingsOf(stages)
	return nil
}

// addHead adds the recorded head of the branch that clusters follow.
func (e *Environment) addHead(heads []ledger.Commit) {
	for _, head := range heads {
		if head.Kind != ledger.BranchPlatform {
			continue
		}
		if e.GitOps == nil {
			e.GitOps = &GitOps{Repository: head.Repository, Branch: head.Branch}
		}
		if e.GitOps.Repository != head.Repository || e.GitOps.Branch != head.Branch {
			continue
		}
		if e.GitOps.Commit == "" {
			e.GitOps.Commit = head.SHA
		}
		if e.GitOps.Commit == head.SHA {
			e.GitOps.Committed = utc(head.Committed)
		}
		if e.Commit == "" {
			e.Commit = head.SourceCommit
		}
	}
}

// addScheduled adds the result of the last round of scheduling.
func (e *Environment) addScheduled(s *Scheduled) {
	if s == nil {
		return
	}
	if s.Err != nil {
		e.Error = secret.Line(secret.Redact(s.Err.Error()))
	}
	if s.Outcome == nil {
		return
	}
	e.Change = changeOf(s.Outcome.PullRequest, s.Outcome.Waits)
	if at := s.Outcome.GitOps.Repo; e.GitOps != nil && ledger.CleanRepository(at) == e.GitOps.Repository {
		e.GitOps.URL = secret.Redact(at)
	}
	if s.Outcome.Plan != nil {
		e.Held = s.Outcome.Plan.Counts.Held
		for _, p := range s.Outcome.Plan.Problems {
			e.Problems.add(p.Severity)
		}
	}
}

func (c *ProblemCounts) add(s fleet.Severity) {
	switch s {
	case fleet.SeverityError:
		c.Errors++
	case fleet.SeverityWarning:
		c.Warnings++
	default:
		c.Notices++
	}
}

// changeOf converts an open pull request; nil if there is none.
func changeOf(c *forge.PullRequest, waits string) *Change {
	if c == nil || c.State == forge.Merged {
		return nil
	}
	return &Change{Number: c.Number, Title: c.Title, URL: c.URL, Labels: c.Labels, Opened: utc(c.CreatedAt), Waits: waits}
}

// counts returns the numbers of targets, workloads and so on.
func (sc *environmentView) counts() EnvironmentCounts {
	type version struct{ workload, version string }
	c := EnvironmentCounts{Targets: len(sc.statuses), ClusterTypes: len(sc.clusterTypes)}
	workloads, versions := map[string]bool{}, map[version]bool{}
	for _, p := range sc.statuses {
		if p.workload != "" {
			workloads[p.workload] = true
		}
		for _, a := range p.assignments {
			if a.isPublished() {
				c.Assignments++
			}
		}
		for _, a := range p.appeared {
			if a.Version != "" {
				versions[version{p.workload, a.Version}] = true
			}
		}
	}
	for _, n := range sc.members {
		c.Clusters += n
	}
	c.Workloads, c.Versions = len(workloads), len(versions)
	return c
}

// withoutClusters returns the cluster types that have published assignments and no clusters, sorted.
func (sc *environmentView) withoutClusters() []string {
	types := map[string]bool{}
	for _, p := range sc.statuses {
		for _, a := range p.assignments {
			if a.isPublished() && sc.members[a.clusterType] == 0 {
				types[a.clusterType] = true
			}
		}
	}
	return natural.Sort(slices.Collect(maps.Keys(types)))
}

// titleOf returns the first line of a commit's message, or "".
func titleOf(line []promote.Commit, sha string) string {
	for _, c := range slices.Backward(line) {
		if c.SHA == sha {
			return c.Subject
		}
	}
	return ""
}
