package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Ring is a ring of an environment: a part of its clusters. Commits are those of the environment's GitOps branch.
type Ring struct {
	Name string `json:"name"`
	// Clusters is the number of clusters that Git lists for it.
	Clusters int `json:"clusters"`
	// Batches is the number of batches that it is divided into, 1 if it is not, and Updated how many of them have Commit.
	Batches int `json:"batches"`
	Updated int `json:"updated"`
	// Commit is the newest commit that one of its batches has; empty before the first one.
	Commit string `json:"commit,omitempty"`
	// Candidate is the commit that is rolled out next; empty if there is none.
	Candidate string `json:"candidate,omitempty"`
	// Source and CandidateSource are the promoted commits whose manifests these are; empty if unknown.
	Source          string `json:"source,omitempty"`
	CandidateSource string `json:"candidateSource,omitempty"`
	// Behind is the number of commits of the environment's GitOps branch that are newer than Commit.
	Behind int `json:"behind"`
	// Phase is the phase of Commit in all batches together.
	Phase decide.State `json:"phase"`
	// Reason explains the phase, and what the candidate waits for.
	Reason string `json:"reason,omitempty"`
	// Delayed explains for each cluster that is changed later, while others do not wait for it, why: it waits for its window, or asks
	// not to be disturbed.
	Delayed []string `json:"delayed,omitempty"`
	// Since is when the phase began; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Counts counts the clusters with regard to Commit: those of batches that do not have it yet are behind.
	Counts comply.Counts `json:"counts"`
	// Paused is set while no commit enters the ring, because the ring or its environment is paused.
	Paused *decide.Pause `json:"paused,omitempty"`
	// Requested is the commit that a user asked to roll out next.
	Requested *decide.Request `json:"requested,omitempty"`
	// Aborted are the commits that are not rolled out here, Skipped those that later rings do not wait for.
	Aborted []decide.Abort `json:"aborted,omitempty"`
	Skipped []decide.Skip  `json:"skipped,omitempty"`
	// Checks is how far the verifications of Commit are: those of the batch that Reason is about. Empty if that one does not have Commit yet.
	Checks []decide.CheckProgress `json:"checks,omitempty"`
	// BatchList are the batches of a divided ring, in the order of rollouts; only in the details of an environment.
	BatchList []Batch `json:"batchList,omitempty"`
	// Targets are the commits to go back to, the newest first, or why they are not good; only in the details of an
	// environment. Batches go together: they are those of the first one.
	Targets []decide.RollbackTarget `json:"targets,omitempty"`
}

// Batch is a part of a ring whose clusters change at the same time.
type Batch struct {
	// Name is that of the ring, with a number: "early.01".
	Name string `json:"name"`
	// Branch is the branch that its clusters follow.
	Branch   string        `json:"branch"`
	Clusters int           `json:"clusters"`
	Commit   string        `json:"commit,omitempty"`
	Phase    decide.State  `json:"phase"`
	Reason   string        `json:"reason,omitempty"`
	Counts   comply.Counts `json:"counts"`
}

// RingsOf sums up the batches of each ring.
func RingsOf(stages []promote.RingStanding) []Ring {
	var rings []Ring
	for len(stages) > 0 {
		name := stages[0].Ring
		end := slices.IndexFunc(stages, func(s promote.RingStanding) bool { return s.Ring != name })
		if end < 0 {
			end = len(stages)
		}
		rings = append(rings, ringOf(stages[:end]))
		stages = stages[end:]
	}
	return rings
}

// ringOf sums up the batches of a ring.
func ringOf(batches []promote.RingStanding) Ring {
	first := slices.MinFunc(batches, func(a, b promote.RingStanding) int {
		return cmp.Or(cmp.Compare(boolInt(a.Commit == ""), boolInt(b.Commit == "")), cmp.Compare(a.Behind, b.Behind))
	})
	r := Ring{
		Name: first.Ring, Batches: len(batches), Commit: first.Commit, Source: first.Source, Behind: first.Behind,
		Targets: batches[0].Targets,
	}
	for i := range batches {
		b := &batches[i]
		r.Clusters += b.Clusters
		if b.Commit == r.Commit {
			r.Updated++
		}
		counts := b.Counts
		if b.Delayed != "" {
			counts.Counted, counts.Required = 0, 0
			r.Delayed = append(r.Delayed, b.Delayed)
		}
		r.Counts = sum(r.Counts, counts, b.Commit == r.Commit)
		// Commands for a ring apply to each of its batches.
		if r.Paused == nil {
			r.Paused = b.Pause
		}
		if r.Requested == nil {
			r.Requested = b.Request
		}
		r.Aborted, r.Skipped = union(r.Aborted, b.Aborts), union(r.Skipped, b.Skips)
		if len(batches) > 1 {
			r.BatchList = append(r.BatchList, Batch{
				Name: b.Name, Branch: b.Branch, Clusters: b.Clusters, Commit: b.Commit, Phase: b.Phase, Reason: b.Reason, Counts: b.Counts,
			})
		}
	}
	r.decide(batches)
	return r
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sum adds the counts of a batch. The clusters of a batch that does not have the commit yet are behind.
func sum(a, b comply.Counts, has bool) comply.Counts {
	if !has {
		b.Behind += b.Reached
		b.Reached = 0
	}
	return comply.Counts{
		Expected: a.Expected + b.Expected, Counted: a.Counted + b.Counted, Required: a.Required + b.Required, Reached: a.Reached + b.Reached,
		Behind: a.Behind + b.Behind, Failed: a.Failed + b.Failed, Offline: a.Offline + b.Offline, Missing: a.Missing + b.Missing,
		Degraded: a.Degraded + b.Degraded,
	}
}

func union[T comparable](all, more []T) []T {
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// phaseUrgency orders phases: the ring has the phase of the batch that needs a user most.
var phaseUrgency = map[decide.State]int{decide.Failed: 1, decide.TakenBack: 2, decide.Rejected: 3, decide.Unknown: 4}

// decide sets phase, reason and candidate: those of the batch that fails, or else of the first one that is not done.
func (r *Ring) decide(batches []promote.RingStanding) {
	done := func(b promote.RingStanding) bool {
		return b.Delayed != "" || b.Commit == r.Commit && (b.Phase.Deployed() || b.Phase == decide.NoClusters)
	}
	i := 0
	for n, b := range batches {
		urgent, least := phaseUrgency[b.Phase], phaseUrgency[batches[i].Phase]
		if urgent > 0 && (least == 0 || urgent < least) || urgent == 0 && least == 0 && done(batches[i]) && !done(b) {
			i = n
		}
	}
	b := &batches[i]
	r.Phase, r.Reason, r.Since, r.Candidate, r.CandidateSource = b.Phase, b.Reason, utc(b.Since), b.Candidate, b.CandidateSource
	if b.Commit == r.Commit {
		r.Checks = b.Checks
	}
	if len(batches) == 1 || done(*b) {
		if len(batches) > 1 && len(r.Delayed) > 0 {
			r.Reason += "; " + strings.Join(r.Delayed, "; ")
		}
		return
	}
	r.Reason = b.Name + ": " + b.Reason
	if phaseUrgency[b.Phase] == 0 && r.Updated < len(batches) { // a batch that waits for its turn runs the commit before
		r.Phase, r.Candidate, r.CandidateSource = decide.Applying, "", ""
		if r.Updated > 0 {
			r.Reason = fmt.Sprintf("%d of %d batches have it; %s", r.Updated, len(batches), r.Reason)
		}
	}
}

// ringNames returns the names of rings, and of the batches of divided ones.
func ringNames(stages []promote.RingStanding) []string {
	var names []string
	for _, s := range stages {
		names = union(names, []string{s.Ring, s.Name})
	}
	return names
}

// Ring returns the standing of an environment, and the batches of a ring of it: all, or the one with this name.
func (o *Observer) Ring(environment, controlPlane, ring string) (Standing, []promote.RingStanding, error) {
	s, err := o.Standing(environment, controlPlane)
	if err != nil {
		return s, nil, err
	}
	if s.Promotion == nil || len(s.Promotion.Rings) == 0 {
		return s, nil, &UnknownError{What: "ring of " + environment, Name: ring, None: true}
	}
	batches := batchesOf(s.Promotion.Rings, ring)
	if len(batches) == 0 {
		return s, nil, Unknown("ring of "+environment, ring, ringNames(s.Promotion.Rings))
	}
	return s, batches, nil
}

// batchesOf returns the stages of a ring, or the stage with this name.
func batchesOf(stages []promote.RingStanding, ring string) []promote.RingStanding {
	var batches []promote.RingStanding
	for _, s := range stages {
		if s.Ring == ring || s.Name == ring {
			batches = append(batches, s)
		}
	}
	return batches
}

// RingCommit returns the commit of an environment's GitOps branch that users mean: the one with this hash, or the newest one with the
// manifests of the promoted commit with this hash. Seven digits are enough. A full hash may be unknown.
func (o *Observer) RingCommit(ctx context.Context, s Standing, commit string) (string, error) {
	commit = strings.ToLower(strings.TrimSpace(commit))
	q := ledger.CommitQuery{Environment: s.Environment, Kind: ledger.BranchPlatform}
	if p := s.Promotion; p != nil && p.GitOps.Repo != "" {
		q.Repository, q.Branch = ledger.CleanRepository(p.GitOps.Repo), p.GitOps.Branch
	}
	commits, err := o.Ledger.Commits(ctx, q)
	if err != nil {
		return "", err
	}
	return RingCommitOf(commits, commit)
}

// RingCommitOf is [Observer.RingCommit] of the commits of a GitOps branch, newest first.
func RingCommitOf(commits []ledger.Commit, commit string) (string, error) {
	found, names := map[string]bool{}, []string{}
	for _, c := range commits {
		switch {
		case strings.HasPrefix(c.SHA, commit):
			found[c.SHA] = true
		case strings.HasPrefix(c.SourceCommit, commit) && c.SourceCommit != "":
			if !slices.ContainsFunc(commits, func(d ledger.Commit) bool { return found[d.SHA] && d.SourceCommit == c.SourceCommit }) {
				found[c.SHA] = true
			}
		}
		names = append(names, c.SHA)
	}
	switch {
	case len(commit) < shortest:
		return "", fmt.Errorf("%w: commit %.40q: give at least %d of its digits", ledger.ErrInvalid, commit, shortest)
	case len(found) > 1:
		return "", ambiguous(commit)
	case len(found) == 0 && isHash(commit):
		return commit, nil
	case len(found) == 0:
		return "", Unknown("commit of the GitOps branch", commit, names[:min(len(names), MaxLimit)])
	}
	for sha := range found {
		return sha, nil
	}
	return "", nil
}

// GoodRingCommits returns the commits to which a ring can be rolled back, the latest first. Batches of a ring go together: those of the
// first one count.
func (o *Observer) GoodRingCommits(batches []promote.RingStanding) []string {
	return goodOf(batches[0].Targets)
}

// ringProgress returns whether a commit passed a ring, failed there, or waits, and why.
func (o *Observer) ringProgress(ctx context.Context, q ProgressQuery) (Progress, error) {
	s, batches, err := o.Ring(q.Environment, q.ControlPlane, q.Ring)
	p := Progress{Environment: q.Environment, Ring: q.Ring}
	if err != nil {
		return p, err
	}
	ring := ringOf(batches)
	p.Phase = ring.Phase
	if q.Commit == "" {
		p.Commit = cmp.Or(s.Promotion.Rollout.Commit, ring.Commit)
	} else if p.Commit, err = o.RingCommit(ctx, s, q.Commit); err != nil {
		return p, err
	}
	commits, err := o.Ledger.Commits(ctx, ledger.CommitQuery{
		Repository: ledger.CleanRepository(s.Promotion.GitOps.Repo), Branch: s.Promotion.GitOps.Branch,
	})
	if err != nil {
		return p, err
	}
	if isHash(q.Commit) && p.Commit == q.Commit && !slices.ContainsFunc(commits, func(c ledger.Commit) bool { return c.SHA == q.Commit }) {
		q.Ring = ""
		whole, err := o.Progress(ctx, q) // it is not published yet: the environment knows why
		whole.Ring = p.Ring
		return whole, err
	}
	steps, err := o.Ledger.Steps(ctx, ledger.StepQuery{
		Subject: ledger.CleanRepository(s.ControlPlane), Environment: decide.RingName(q.Environment, ring.Name), Parts: true, Commit: p.Commit,
	})
	if err != nil {
		return p, err
	}
	p.Gate = &Gate{Commit: p.Commit, SourceCommit: promotedAs(commits, p.Commit)}
	p.Result, p.Reason = ProgressPassed, ring.Reason
	var delayed []string
	for i := range batches {
		b := &batches[i]
		at := ringFinder{environment: q.Environment, commit: p.Commit, batch: b, commits: commits, steps: steps}
		result, reason, failed := at.find()
		if result == ProgressWaits && b.Delayed != "" && len(batches) > 1 {
			delayed = append(delayed, b.Delayed)
			continue
		}
		p.Gate.Counts = sum(p.Gate.Counts, b.Counts, at.has())
		if result == ProgressPassed && p.Result == ProgressPassed && (at.skipped() != nil || b.Commit != p.Commit) {
			p.Reason = reason
		}
		if result == ProgressFailed && p.Result != ProgressFailed || result == ProgressWaits && p.Result == ProgressPassed {
			p.Result, p.Reason, p.FailedAt = result, reason, utc(failed)
		}
	}
	if len(delayed) > 0 && p.Result == ProgressPassed {
		p.Reason += "; " + strings.Join(delayed, "; ")
	}
	p.Gate.Result = map[ProgressResult]comply.Result{ProgressPassed: comply.Passed, ProgressFailed: comply.Failed, ProgressWaits: comply.Waiting}[p.Result]
	p.Gate.Reason = p.Reason
	return p, nil
}

// promotedAs returns the promoted commit whose manifests a commit of the GitOps branch has.
func promotedAs(commits []ledger.Commit, sha string) string {
	for _, c := range commits {
		if c.SHA == sha {
			return c.SourceCommit
		}
	}
	return ""
}

// ringFinder determines the progress of a commit in a batch.
type ringFinder struct {
	environment, commit string
	batch               *promote.RingStanding
	commits             []ledger.Commit // of the GitOps branch, newest first
	steps               []ledger.Step   // of the commit, newest first
}

// has reports whether the batch has the commit, or a newer one.
func (f *ringFinder) has() bool {
	at := func(sha string) int {
		return slices.IndexFunc(f.commits, func(c ledger.Commit) bool { return c.SHA == sha })
	}
	own, wanted := at(f.batch.Commit), at(f.commit)
	return f.batch.Commit == f.commit || own >= 0 && wanted >= 0 && own < wanted
}

// skipped returns the command that lets the commit pass the batch, or nil.
func (f *ringFinder) skipped() *decide.Skip {
	i := slices.IndexFunc(f.batch.Skips, func(s decide.Skip) bool { return s.Commit == f.commit })
	if i < 0 {
		return nil
	}
	return &f.batch.Skips[i]
}

func (f *ringFinder) find() (result ProgressResult, reason string, failed time.Time) {
	b := f.batch
	if s := f.skipped(); s != nil {
		return ProgressPassed, fmt.Sprintf("skipped by %s: %s", s.By, s.Why), failed
	}
	reason = b.Name + ": " + b.Reason
	if b.Commit == f.commit {
		if b.Phase == decide.Failed {
			failed = b.Since
		}
		return resultOf(b.Phase), reason, failed // not what was recorded: clusters may have left it since
	}
	name := decide.RingName(f.environment, b.Name)
	own := slices.DeleteFunc(slices.Clone(f.steps), func(s ledger.Step) bool { return s.Environment != name })
	if result, step := recordedResult(own); result == ProgressFailed {
		if step.Kind == string(decide.StepFailed) {
			failed = step.At
		}
		return result, strings.TrimSuffix(fmt.Sprintf("%s: %s %s: %s", b.Name, fleet.ShortCommit(f.commit), step.Kind, step.Reason), ": "), failed
	}
	if f.has() {
		return resultOf(b.Phase), fmt.Sprintf("%s: the newer commit %s took its place; %s", b.Name, fleet.ShortCommit(b.Commit), b.Reason), failed
	}
	return ProgressWaits, reason, failed
}
