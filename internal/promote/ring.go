package promote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Rings is the state of the rings of an environment.
type Rings struct {
	// Unknown explains why it is not known; optional.
	Unknown string
	// Platform means that the branches have platform manifests. The ledger learns from promotions which commits they have; those of
	// applications are recorded with what they contain.
	Platform bool
	// Line holds the commits of the environment's GitOps branch, oldest first.
	Line []Commit
	// Stages are the rings, and the batches of rings, in the order of rollouts.
	Stages []RingState
	// Former are the other branches of rings: those of batches that were divided or joined, and of removed rings. They have no clusters, but
	// clusters that have not noticed still follow them, and a batch may come back.
	Former []RingState
}

// RingState is the state of a ring, or of a batch of a ring.
type RingState struct {
	fleet.Stage
	// Branch is the branch that its clusters follow, and Head its commit; empty if the branch does not exist.
	Branch, Head string
	// Commit is the commit of the line that Head was derived from.
	Commit string
	// Stale means that Head is not what is derived from Commit, so that the branch has to be moved.
	Stale bool
	// Unknown explains why Commit is not known; optional.
	Unknown string
}

// RingBranches gives access to the branches of rings.
type RingBranches interface {
	// Heads returns the commits of all branches of a repository, by name.
	Heads(ctx context.Context, repo string) (map[string]string, error)
	// Derive returns the commit that a ring has for a commit of the environment's branch gitOps. The same commit gives the same result.
	Derive(ctx context.Context, gitOps hub.Source, ring, commit string) (string, error)
	// Origin returns the first parent of a commit of a branch; empty if it has none.
	Origin(ctx context.Context, repo, branch, commit string) (string, error)
}

// gatherRings collects the facts of an environment's rings, and decides.
func (r *round) gatherRings(ctx context.Context, clusters *registry, place EnvironmentState) (*lane, error) {
	l := &lane{environment: place.Environment}
	stages := make([]fleet.Stage, len(place.Rings.Stages))
	for i, s := range place.Rings.Stages {
		stages[i] = s.Stage
	}
	l.facts.Chain = decide.NewRings(r.stage(place.Environment), stages)
	l.facts.Authors, l.facts.Merged, l.facts.Sources = map[string][]string{}, map[string]time.Time{}, map[string]string{}
	line := r.rendered(place)
	for _, c := range line {
		l.facts.Line = append(l.facts.Line, c.SHA)
		l.facts.Merged[c.SHA] = c.Time
		source := r.source(place.Environment+"/", c.SHA)
		if source == "" && place.Rollout.State == decide.RolloutMerged && place.Rollout.Commit == c.SHA {
			source = place.Commit // not recorded yet
		}
		if source != "" {
			l.facts.Sources[c.SHA] = source
		}
		if authors := r.authors(source); authors != nil {
			l.facts.Authors[c.SHA] = authors
		}
	}
	for _, c := range r.reading.Line {
		l.facts.SourceLine = append(l.facts.SourceLine, c.SHA)
		l.facts.Merged[c.SHA] = c.Time
	}
	var failed error
	members, err := clusters.members(ctx)
	if err != nil {
		failed = joinIn(place.Environment, failed, err)
	}
	byStage := place.Rings.members(members)
	for i := range place.Rings.Stages {
		l.places = append(l.places, r.ringPlace(place, i, byStage[place.Rings.Stages[i].Name]))
	}
	failed = errors.Join(failed, r.gatherPlaces(ctx, clusters, l, func(ring EnvironmentState) decide.Environment { return r.ring(place, ring) }))
	l.decided = decide.Together(l.facts, r.at)
	l.decisions = l.decided.Decisions
	r.setStarts(l, place)
	return l, failed
}

// rendered returns the line of an environment's rings without the commits that no ring has, and of which it is not
// known that they have what Kalypso rendered: that was found out in this round, or when they were recorded as
// published. Someone may have pushed the others.
func (r *round) rendered(place EnvironmentState) []Commit {
	rings := place.Rings
	entered := -1
	for _, s := range slices.Concat(rings.Stages, rings.Former) {
		entered = max(entered, rings.position(s.Commit))
	}
	if entered < 0 {
		return rings.Line // clusters follow the environment's branch until a ring has one
	}
	line := slices.Clone(rings.Line[:entered+1])
	for _, c := range rings.Line[entered+1:] {
		published := place.Rollout.State == decide.RolloutMerged && place.Rollout.Commit == c.SHA
		if published || c.SHA == place.Rendered || r.source(place.Environment+"/", c.SHA) != "" {
			line = append(line, c)
		}
	}
	if head := head(rings.Line); len(line) > 0 && line[len(line)-1].SHA != head {
		r.reading.Problems = fleet.SortProblems(append(slices.Clone(r.reading.Problems), fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindNotRendered, Position: fleet.Position{Source: "gitops"},
			Message: fmt.Sprintf("commit %s of the GitOps branch of %s enters no ring, because it is not known that it has what Kalypso rendered",
				fleet.ShortCommit(head), place.Environment),
			Hint: "look at the problems of the environment, or compare it with kalypso verify --control-plane or --source; then merge the environment's pull request",
		}))
	}
	return line
}

// stage returns the definition of an environment.
func (r *round) stage(environment string) decide.Stage {
	for _, s := range r.reading.Stages {
		if s.Name == environment {
			return s
		}
	}
	return decide.Stage{Name: environment}
}

// ringPlace returns a stage of an environment's rings as a place of its own. members are the clusters of the stage.
func (r *round) ringPlace(place EnvironmentState, i int, members []comply.Cluster) EnvironmentState {
	s := &place.Rings.Stages[i]
	ring := EnvironmentState{
		Environment: decide.RingName(place.Environment, s.Name), Commit: s.Commit, GitOps: place.GitOps, exact: true,
		Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: s.Head}, Unknown: s.Unknown,
	}
	if s.Unknown == "" && s.Head == "" {
		ring.Rollout = decide.Rollout{} // it has no branch yet
	}
	ring.GitOps.Ref = s.Branch
	ring.wholes = place.Rings.wholes(place.Environment, s.Stage)
	ring.Expect = func(_ []comply.Cluster, branch string) []comply.Expected { return place.expect(members, branch) }
	return ring
}

// position returns the position of a commit on the line; -1 if it is not on it.
func (r *Rings) position(commit string) int {
	return slices.IndexFunc(r.Line, func(c Commit) bool { return c.SHA == commit })
}

// members divides clusters by the names of their stages. A registered cluster that Git does not list is in the last one that is not a
// stage of one cluster.
func (r *Rings) members(clusters []comply.Cluster) map[string][]comply.Cluster {
	stageOf := map[string]string{}
	last := ""
	for i := range r.Stages {
		name := r.Stages[i].Name
		if _, own := r.Stages[i].Own(); !own {
			last = name
		}
		for _, c := range r.Stages[i].Clusters {
			stageOf[c] = name
		}
	}
	byStage := map[string][]comply.Cluster{}
	for _, c := range clusters {
		stage, listed := stageOf[c.Name]
		if !listed {
			stage = cmp.Or(last, r.Stages[len(r.Stages)-1].Name)
		}
		byStage[stage] = append(byStage[stage], c)
	}
	return byStage
}

// leftBatch explains to people why a batch has no clusters any more.
const leftBatch = "its clusters are in other batches now"

// starting reports whether a stage has to be moved to where it starts.
func (l *lane) starting() bool {
	return slices.ContainsFunc(l.places, func(p EnvironmentState) bool { return p.start != "" })
}

// markFormer records that batches have no clusters any more, before any branch moves: if they have clusters again, these were in others.
func (r *round) markFormer(ctx context.Context, l *lane) error {
	rings := r.place(l.environment).Rings
	if rings == nil || l.starting() {
		return nil
	}
	for _, s := range rings.Former {
		name := decide.RingName(l.environment, s.Name)
		if page := r.journal.page(name); s.Unknown != "" || s.Commit == "" || page.left() || len(page.records) == 0 {
			continue
		}
		if err := r.record(ctx, name, s.Commit, Emptied, leftBatch, Detail{}); err != nil {
			return joinIn(name, nil, err)
		}
		r.did(fmt.Sprintf("%s has no clusters any more", name))
	}
	return nil
}

// moveFormer moves the branches of former batches along with those that their clusters are in now.
func (r *round) moveFormer(ctx context.Context, l *lane) error {
	rings := r.place(l.environment).Rings
	if rings == nil || l.starting() {
		return nil // clusters keep what they run until their new branches exist
	}
	var failed error
	for _, s := range rings.Former {
		to := rings.follows(s.Stage, l.ranWell)
		if s.Unknown != "" || to == "" || to == s.Commit && !s.Stale {
			continue
		}
		m := Move{Environment: decide.RingName(l.environment, s.Name), From: s.Commit, Commit: to, Reason: leftBatch, Former: true}
		if err := r.move(ctx, m); err != nil {
			failed = joinIn(m.Environment, failed, err)
		}
	}
	return failed
}

// ring returns the facts of a stage, without the verdict. Commands for the environment and for the ring apply to each batch.
func (r *round) ring(place, stage EnvironmentState) decide.Environment {
	own := r.journal.page(stage.Environment)
	e := own.environment(stage)
	e.Proposals = nil
	for _, whole := range stage.wholes { // it was verified before the batch was divided
		e.Checks = slices.Concat(r.journal.page(whole.name).checks(stage.Commit, stage.Rollout.Commit), e.Checks)
	}
	ringName := fleet.RingOfStage(stage.Environment)
	ring, environment := r.journal.page(ringName), r.journal.page(place.Environment)
	if ringName != stage.Environment {
		commands := ring.environment(stage)
		e.Aborts = append(e.Aborts, commands.Aborts...)
		e.Skips = append(e.Skips, commands.Skips...)
		e.Bypasses = append(e.Bypasses, commands.Bypasses...)
		e.Approvals = append(e.Approvals, commands.Approvals...)
		e.Rollbacks = append(e.Rollbacks, commands.Rollbacks...)
		e.Requested = latest(e.Requested, commands.Requested)
		if e.Pause == nil {
			e.Pause = commands.Pause
		}
		if o := commands.Request; o != nil && (e.Request == nil || o.At.After(e.Request.At)) {
			e.Request = o
		}
	}
	whole := environment.environment(EnvironmentState{Environment: place.Environment})
	for _, b := range whole.Rollbacks {
		b.All = true
		e.Rollbacks = append(e.Rollbacks, b)
	}
	for _, other := range place.Rings.names() {
		for _, b := range r.journal.page(decide.RingName(place.Environment, other)).rolledBack() {
			if b.All && other != fleet.RingOfStage(stage.Environment) && decide.RingName(place.Environment, other) != ringName {
				e.Rollbacks = append(e.Rollbacks, b)
			}
		}
	}
	if e.Pause == nil {
		e.Pause = whole.Pause
	}
	for _, a := range whole.Aborts {
		for revision, commit := range environment.revisions {
			if commit == a.Commit {
				a.Commit = revision
				e.Aborts = append(e.Aborts, a)
			}
		}
	}
	return e
}

// source returns the commit of the source branch from which the manifests at a commit of a place come. In a ring, whose commits
// are those of the GitOps branch, it is empty if the publication is not recorded.
func (r *round) source(place, commit string) string {
	environment, _, rings := strings.Cut(place, "/")
	if !rings {
		return commit
	}
	return r.journal.page(environment).revisions[commit]
}

// authors returns the names of the author of a commit of the source branch, as far as they are known.
func (r *round) authors(commit string) []string {
	for _, c := range r.reading.Line {
		if c.SHA == commit {
			return c.Authors
		}
	}
	return nil
}

// ringVerdict sets the verdict of an environment with rings, and what they said about its carriers.
func (r *round) ringVerdict(e *decide.Environment, place EnvironmentState) {
	e.Rings = true
	if place.Rings.Unknown != "" {
		e.Unknown = place.Rings.Unknown
		return
	}
	l := r.rings(place.Environment)
	commit := place.Rollout.Commit
	if place.Rollout.State != decide.RolloutMerged {
		commit = head(place.Rings.Line) // the one before, which clusters run or get meanwhile
	}
	e.Verdict = l.decided.Verdict(commit)
	for i := range e.Carriers {
		c := &e.Carriers[i]
		c.Spans = l.decided.Spans(c.Revision, c.Entered)
	}
	for _, ring := range place.Rings.names() {
		name := decide.RingName(place.Environment, ring)
		for _, b := range r.journal.page(name).rolledBack() {
			if source := r.source(name, b.Commit); source != "" {
				b.Commit = source
			}
			b.In, b.To = name, ""
			e.Rollbacks = append(e.Rollbacks, b)
		}
	}
}

// names returns the names of the rings and of their batches.
func (r *Rings) names() []string {
	var names []string
	for i := range r.Stages {
		for _, name := range []string{r.Stages[i].Ring, r.Stages[i].Name} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// latest returns the later of the times of each commit.
func latest(a, b map[string]time.Time) map[string]time.Time {
	all := maps.Clone(a)
	for commit, at := range b {
		if all == nil {
			all = map[string]time.Time{}
		}
		all[commit] = later(all[commit], at)
	}
	return all
}

// startStages moves the branches of stages to where they start, or start again, and reports whether it did. No other branch of a ring
// moves in such a round: where a stage starts depends on the stages that its clusters were in before.
func (r *round) startStages(ctx context.Context, l *lane) (started bool, failed error) {
	for _, place := range l.places {
		rules, _ := l.facts.Chain.Rules(place.Environment)
		if place.start == "" || place.Unknown != "" {
			continue
		}
		if why, until := rules.SiteClosed(r.at); place.Commit != "" && place.Commit != place.start && why != "" {
			r.outcome.wake(until) // its cluster would change
			continue
		}
		if err := r.startRing(ctx, place); err != nil {
			failed = joinIn(place.Environment, failed, err)
		}
		started = true
	}
	return started, failed
}

// startRing moves the branch of a ring to where it starts, or starts again.
func (r *round) startRing(ctx context.Context, place EnvironmentState) error {
	if page := r.journal.page(place.Environment); page.left() && place.start == place.Commit {
		r.did(fmt.Sprintf("%s has clusters again", place.Environment))
		return r.record(ctx, place.Environment, place.Commit, decide.StepStarted, place.startWhy, Detail{})
	}
	return r.move(ctx, Move{Environment: place.Environment, From: place.Commit, Commit: place.start, Reason: place.startWhy})
}

// ringStanding returns the state of a stage.
func (r *round) ringStanding(d decide.Decision) RingStanding {
	environment, stage := decide.SplitRing(d.Environment)
	place, e, l := r.place(d.Environment), r.environment(d.Environment), r.rings(environment)
	s := RingStanding{
		Name: stage, Ring: fleet.RingOfStage(stage), Branch: place.GitOps.Ref, Phase: d.State, Commit: d.Commit, Authors: l.facts.Authors[d.Commit], Candidate: d.Candidate,
		Reason: d.Reason, Delayed: d.Delayed, Since: r.since(d), Next: d.Next, Counts: e.Verdict.Counts, Checks: d.Checks, Pause: e.Pause, Request: d.Request,
		Aborts: e.Aborts, Rollbacks: e.Rollbacks, Targets: d.Targets, Skips: e.Skips, Behind: len(l.facts.Line) - 1 - slices.Index(l.facts.Line, d.Commit),
		To: goesTo(d),
	}
	revisions := r.journal.page(environment).revisions
	s.Source, s.CandidateSource = revisions[d.Commit], revisions[d.Candidate]
	if rings := r.place(environment).Rings; rings != nil {
		for i := range rings.Stages {
			if rings.Stages[i].Name == stage {
				s.Clusters = len(rings.Stages[i].Clusters)
			}
		}
	}
	for _, a := range d.Actions {
		s.Actions = append(s.Actions, a.String())
	}
	return s
}

// ringsOf reads the rings of an environment; nil if it has none.
func (p *Platform) ringsOf(ctx context.Context, place *EnvironmentState, o *schedule.Outcome) *Rings {
	if o == nil || o.Bundle == nil {
		return nil
	}
	published, unknown := o.Bundle.Published().Rings()
	if unknown {
		return &Rings{Unknown: "the GitOps branch has rings that cannot be read: mend or delete .kalypso/rings.json there"}
	}
	if published == nil {
		return nil
	}
	heads, err := p.Rings.Heads(ctx, place.GitOps.Repository)
	if err != nil {
		return &Rings{Unknown: fmt.Sprintf("read the branches of the rings: %v", err)}
	}
	rings := &Rings{Platform: true}
	if rings.Line, err = p.Lines.Line(ctx, schedule.Location{Repo: place.GitOps.Repository, Branch: place.GitOps.Ref}, maxLine); err != nil {
		return &Rings{Unknown: fmt.Sprintf("read the GitOps branch %q: %v", place.GitOps.Ref, err)}
	}
	for _, s := range published.Stages {
		branch := fleet.RingBranch(place.Environment, s.Name)
		state := RingState{Stage: s, Branch: branch, Head: heads[branch]}
		if state.Head != "" {
			p.findCommit(ctx, rings, place.GitOps, &state)
		}
		rings.Stages = append(rings.Stages, state)
	}
	for _, branch := range slices.Sorted(maps.Keys(heads)) {
		name, ours := strings.CutPrefix(branch, fleet.RingBranch(place.Environment, ""))
		if !ours || slices.ContainsFunc(rings.Stages, func(s RingState) bool { return s.Name == name }) {
			continue
		}
		state := RingState{Stage: fleet.Stage{Name: name, Ring: fleet.RingOfStage(name)}, Branch: branch, Head: heads[branch]}
		p.findCommit(ctx, rings, place.GitOps, &state)
		rings.Former = append(rings.Former, state)
	}
	return rings
}

// findCommit finds the commit of the line that the head of a ring's branch was derived from.
func (p *Platform) findCommit(ctx context.Context, rings *Rings, gitOps hub.Source, s *RingState) {
	onLine := func(commit string) bool {
		return slices.ContainsFunc(rings.Line, func(c Commit) bool { return c.SHA == commit })
	}
	unknown := func(format string, args ...any) { s.Unknown = fmt.Sprintf(format, args...) }
	if s.Commit = s.Head; !onLine(s.Head) {
		origin, err := p.Rings.Origin(ctx, gitOps.Repository, s.Branch, s.Head)
		if err != nil {
			unknown("read branch %q of the ring: %v", s.Branch, err)
			return
		}
		s.Commit = origin
	}
	if onLine(s.Commit) {
		derived, err := p.Rings.Derive(ctx, gitOps, s.Ring, s.Commit)
		if err != nil {
			unknown("%v", err)
			return
		}
		if derived == s.Head {
			return
		}
		if s.Commit == s.Head {
			s.Stale = true
			return
		}
	}
	unknown("branch %q is at %s, which Kalypso did not make from a commit of branch %q; only Kalypso moves it: delete it, or move it to a commit of %q",
		s.Branch, fleet.ShortCommit(s.Head), gitOps.Ref, gitOps.Ref)
	s.Commit = ""
}

// ringSource is the GitOps branch of an environment with rings, and the heads of their branches.
type ringSource struct {
	gitOps hub.Source
	heads  map[string]string
}

func ringSourceOf(place *EnvironmentState) ringSource {
	s := ringSource{gitOps: place.GitOps, heads: map[string]string{}}
	for _, state := range slices.Concat(place.Rings.Stages, place.Rings.Former) {
		s.heads[state.Name] = state.Head
	}
	return s
}

// moveRing moves the branch of a ring to a commit of the environment's branch.
func (p *Platform) moveRing(ctx context.Context, m Move) (MoveResult, error) {
	environment, stage := decide.SplitRing(m.Environment)
	at, known := p.ringSources[environment]
	if !known {
		return MoveResult{}, fmt.Errorf("environment %q has no rings", environment)
	}
	branch := fleet.RingBranch(environment, stage)
	made, err := p.Rings.Derive(ctx, at.gitOps, fleet.RingOfStage(stage), m.Commit)
	if err != nil {
		return MoveResult{}, err
	}
	err = p.Committer.Push(ctx, at.gitOps.Repository, branch, at.heads[stage], made)
	switch {
	case errors.Is(err, pullrequest.ErrMoved):
		return MoveResult{}, nil // another server was faster
	case errors.Is(err, ErrProtected):
		return MoveResult{}, fmt.Errorf("move branch %q of ring %s: the branch is protected; let Kalypso push to %s: %w", branch, m.Environment, fleet.RingBranch(environment, "*"), err)
	case err != nil:
		return MoveResult{}, fmt.Errorf("move branch %q of ring %s: %w", branch, m.Environment, err)
	}
	return MoveResult{Did: m.title(), Revision: made}, nil
}
