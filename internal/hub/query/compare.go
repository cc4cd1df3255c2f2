package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Comparison is the difference between two environments.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// SameCommit means that both have the same commit of main, and the GitOps branches of both have its manifests or, of one environment
	// twice, the same commit.
	SameCommit bool `json:"sameCommit"`
	// Ahead is the environment with the newer commit; empty if the history is unknown, or both have the same.
	Ahead In `json:"ahead,omitempty"`
	// Commits are those that only the environment ahead has, the newest first, at most 50.
	Commits []Commit `json:"commits,omitempty"`
	// Targets differ; they are sorted by workload and name within it.
	Targets []TargetDifference `json:"targets"`
	// Assignments are in one environment only; they are sorted by target and cluster type.
	Assignments []AssignmentDifference `json:"assignments"`
	// Configuration compares the values of the platform configuration, as of the last rounds; absent for the past, and for environments
	// that no round has read: the ledger has no values.
	Configuration *ConfigComparison `json:"configuration,omitempty"`
	// Events are the steps of promotions, commits and pull requests between the two times if one environment is compared with itself, the
	// newest first, at most 100.
	// EventsLeft means that there are more.
	Events     []Event `json:"events,omitempty"`
	EventsLeft bool    `json:"eventsLeft,omitempty"`
	// Same counts the targets and assignments that do not differ.
	Same SameCounts `json:"same"`
}

// Side is one environment of a comparison.
type Side struct {
	Environment string `json:"environment"`
	// Commit is the promoted commit of main, GitOpsCommit the one that clusters should run.
	Commit string `json:"commit,omitempty"`
	// Title is the first line of its message; empty if unknown.
	Title        string `json:"title,omitempty"`
	GitOpsCommit string `json:"gitOpsCommit,omitempty"`
	// Since is when the phase of the commit began.
	Since time.Time `json:"since,omitzero"`
	// Phase is the progress of the commit: until it is merged, clusters run an earlier one.
	Phase decide.State `json:"phase"`
	// AsOf is the time that is compared; absent for now.
	AsOf time.Time `json:"asOf,omitzero"`
}

// Commit is a commit of main.
type Commit struct {
	SHA   string    `json:"sha"`
	Title string    `json:"title,omitempty"`
	Time  time.Time `json:"time,omitzero"`
}

// In says in which of two environments something is.
type In string

// The values of In.
const (
	InBoth In = "both"
	InA    In = "a"
	InB    In = "b"
)

// TargetDifference is a target whose versions differ, or that only one of two environments has.
type TargetDifference struct {
	Workload string `json:"workload"`
	// Target is the name within the workload, because full names contain the environment. A workload with one target in each environment
	// has the same target in both: TargetInB is its name in the second one if that differs.
	Target    string `json:"target"`
	TargetInB string `json:"targetInB,omitempty"`
	In        In     `json:"in"`
	// A and B are absent if the environment does not have the target.
	A *TargetVersions `json:"a,omitempty"`
	B *TargetVersions `json:"b,omitempty"`
}

// TargetVersions are the versions of a target in an environment.
type TargetVersions struct {
	// Wanted is the version that should run; empty without a deployment descriptor.
	Wanted  string         `json:"wanted,omitempty"`
	Running []VersionCount `json:"running"`
	// Pin is set for a target that keeps a revision, or is uninstalled; absent if it follows its environment, or that is unknown.
	Pin *deliver.PinnedTarget `json:"pin,omitempty"`
}

// AssignmentDifference is an assignment that only one of two environments has.
type AssignmentDifference struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"` // the name within the workload
	Workload    string `json:"workload,omitempty"`
	In          In     `json:"in"`
}

// SameCounts count what does not differ.
type SameCounts struct {
	Targets     int `json:"targets"`
	Assignments int `json:"assignments"`
}

// CompareQuery selects two environments.
type CompareQuery struct {
	A    string    `path:"a" maxLength:"253" doc:"One environment."`       // required
	B    string    `path:"b" maxLength:"253" doc:"The other environment."` // required
	AsOf time.Time `query:"asOf" doc:"Both environments at this time. Default: now."`
	// BAsOf compares two times, also of one environment.
	BAsOf time.Time `query:"bAsOf" doc:"The other environment at this time. Default: asOf, and now for one environment twice, whose answer has what happened between the two times."`
}

// maxBetween limits the commits between two environments.
const maxBetween = 50

// Compare compares two environments.
func (o *Observer) Compare(ctx context.Context, q CompareQuery) (Comparison, error) {
	c := Comparison{Targets: []TargetDifference{}, Assignments: []AssignmentDifference{}}
	for _, at := range []time.Time{q.AsOf, q.BAsOf} {
		if err := o.knows(at); err != nil {
			return c, err
		}
	}
	a, err := o.side(ctx, q.A, q.AsOf, &c.A)
	if err != nil {
		return c, err
	}
	if q.BAsOf.IsZero() && q.A != q.B {
		q.BAsOf = q.AsOf
	}
	b, err := o.side(ctx, q.B, q.BAsOf, &c.B)
	if err != nil {
		return c, err
	}
	c.SameCommit = c.A.Commit != "" && c.A.Commit == c.B.Commit && (c.A.merged() && c.B.merged() || q.A == q.B && c.A.GitOpsCommit == c.B.GitOpsCommit)
	c.addCommits(a)
	name := pairedNames(a, b)
	c.addTargets(a, b, name)
	c.addAssignments(a, b, name)
	if q.AsOf.IsZero() && q.BAsOf.IsZero() && q.A != q.B {
		if c.Configuration, err = compareConfig(ctx, a.scheduled, b.scheduled); err != nil {
			return c, err
		}
	}
	if q.A == q.B {
		err = o.addEvents(ctx, &c, q)
	}
	return c, err
}

// maxEvents limits the events between two times.
const maxEvents = 100

// addEvents adds what users and rounds did between two times of an environment. What clusters did is left out, which is much more.
func (o *Observer) addEvents(ctx context.Context, c *Comparison, q CompareQuery) error {
	from, to := q.AsOf, q.BAsOf
	if from.IsZero() {
		from = o.Now()
	}
	if to.IsZero() {
		to = o.Now()
	}
	if to.Before(from) {
		from, to = to, from
	}
	if from.Equal(to) {
		return nil
	}
	page, err := o.History(ctx, HistoryQuery{
		Environment: q.A, Kinds: []EventKind{EventPromotion, EventCommit, EventChange}, From: from, To: until(to), Paging: Paging{Limit: maxEvents},
	})
	c.Events, c.EventsLeft = page.Items, page.Next != ""
	return err
}

// side returns one of the environments.
func (o *Observer) side(ctx context.Context, name string, asOf time.Time, side *Side) (*environmentView, error) {
	s, err := o.environment(ctx, "", name, asOf)
	if err != nil {
		return nil, err
	}
	sc, err := o.environmentView(ctx, s, targetFilter{}, asOf)
	if err != nil {
		return nil, err
	}
	e, err := o.named(ctx, sc, asOf)
	*side = Side{Environment: name, Commit: e.Commit, Title: e.Title, Since: e.Since, Phase: e.Phase, AsOf: utc(asOf)}
	if e.GitOps != nil {
		side.GitOpsCommit = e.GitOps.Commit
	}
	return sc, err
}

// merged reports whether the GitOps branch has the manifests of the commit, as far as the phase says.
func (s *Side) merged() bool {
	return !slices.Contains([]decide.State{decide.Proposed, decide.Proposed, decide.Rejected, decide.TakenBack}, s.Phase)
}

// addCommits adds the commits between the environments, if the history is known.
func (c *Comparison) addCommits(a *environmentView) {
	at := map[string]int{}
	for i, commit := range a.line {
		at[commit.SHA] = i
	}
	from, inA := at[c.A.Commit]
	to, inB := at[c.B.Commit]
	if !inA || !inB || from == to {
		return
	}
	c.Ahead = InB
	if from > to {
		c.Ahead, from, to = InA, to, from
	}
	for i := to; i > from && len(c.Commits) < maxBetween; i-- {
		c.Commits = append(c.Commits, Commit{SHA: a.line[i].SHA, Title: a.line[i].Subject, Time: utc(a.line[i].Time)})
	}
}

// pair is something in two environments; nil if an environment does not have it.
type pair[T any] struct{ a, b *T }

func (p pair[T]) in() In {
	switch {
	case p.b == nil:
		return InA
	case p.a == nil:
		return InB
	}
	return InBoth
}

// pairedNames returns the names by which targets of two environments are compared: those within the workload, and none for workloads that
// have one target in each.
func pairedNames(a, b *environmentView) func(*targetStatus) string {
	count := func(v *environmentView) map[string]int {
		n := map[string]int{}
		for _, p := range v.statuses {
			n[p.workload]++
		}
		return n
	}
	inA, inB := count(a), count(b)
	return func(p *targetStatus) string {
		if inA[p.workload] == 1 && inB[p.workload] == 1 {
			return ""
		}
		return p.shortName
	}
}

// addTargets compares targets by workload and name within it.
func (c *Comparison) addTargets(a, b *environmentView, name func(*targetStatus) string) {
	pairs := map[string]pair[targetStatus]{}
	for i := range a.statuses {
		p := &a.statuses[i]
		pairs[key(p.workload, name(p))] = pair[targetStatus]{a: p}
	}
	for i := range b.statuses {
		p := &b.statuses[i]
		k := key(p.workload, name(p))
		pairs[k] = pair[targetStatus]{pairs[k].a, p}
	}
	for _, k := range slices.Sorted(maps.Keys(pairs)) {
		p := pairs[k]
		one := p.a
		if one == nil {
			one = p.b
		}
		d := TargetDifference{Workload: one.workload, Target: one.shortName, In: p.in(), A: p.a.targetVersions(), B: p.b.targetVersions()}
		if d.In == InBoth && p.b.shortName != d.Target {
			d.TargetInB = p.b.shortName
		}
		if d.In == InBoth && sameVersions(d.A, d.B) {
			c.Same.Targets++
			continue
		}
		c.Targets = append(c.Targets, d)
	}
}

func (p *targetStatus) targetVersions() *TargetVersions {
	if p == nil {
		return nil
	}
	v := &TargetVersions{Running: p.versions(), Pin: p.pin}
	if p.wanted != nil {
		v.Wanted = p.wanted.Version
	}
	return v
}

// sameVersions compares versions, and whether targets are pinned or uninstalled. Revisions always differ, because every environment has its own branch.
func sameVersions(a, b *TargetVersions) bool {
	names := func(v *TargetVersions) []string {
		var all []string
		for _, r := range v.Running {
			if r.Version != "" {
				all = append(all, r.Version)
			}
		}
		return slices.Compact(all) // they are sorted
	}
	uninstalled := func(v *TargetVersions) bool { return v.Pin != nil && v.Pin.Uninstalled }
	return (a.Pin == nil) == (b.Pin == nil) && uninstalled(a) == uninstalled(b) && a.Wanted == b.Wanted && slices.Equal(names(a), names(b))
}

// addAssignments compares assignments.
func (c *Comparison) addAssignments(a, b *environmentView, name func(*targetStatus) string) {
	pairs := map[string]pair[AssignmentDifference]{}
	for k, d := range a.published(name) {
		pairs[k] = pair[AssignmentDifference]{a: &d}
	}
	for k, d := range b.published(name) {
		pairs[k] = pair[AssignmentDifference]{pairs[k].a, &d}
	}
	for _, k := range slices.Sorted(maps.Keys(pairs)) {
		p := pairs[k]
		if p.in() == InBoth {
			c.Same.Assignments++
			continue
		}
		d := *cmp.Or(p.a, p.b)
		d.In = p.in()
		c.Assignments = append(c.Assignments, d)
	}
}

// published returns the assignments on the GitOps branch, by what they are compared by.
func (sc *environmentView) published(name func(*targetStatus) string) map[string]AssignmentDifference {
	all := map[string]AssignmentDifference{}
	for i := range sc.statuses {
		p := &sc.statuses[i]
		for _, a := range p.assignments {
			if a.isPublished() {
				all[names(p.workload, name(p), a.clusterType)] = AssignmentDifference{ClusterType: a.clusterType, Target: p.shortName, Workload: p.workload}
			}
		}
	}
	return all
}
