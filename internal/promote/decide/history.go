package decide

import (
	"slices"
	"time"
)

// run records how long a commit, or a later commit that contains it, ran in an environment without failure.
type run struct {
	arrived bool
	// first is when the commit was first deployed.
	first time.Time
	// longest is the longest run.
	longest time.Duration
	// start is when the current run began; zero if the commit is not running.
	start time.Time
	// failed means that the newest step of the commit is its failure, and lost that the newest step of the commit or a later one is a failure.
	failed, lost bool
}

// read computes from the history how long each commit of the line ran, and the newest commit that was ever promoted.
// A run ends with a failure, and when an older or unknown commit is promoted.
func (p *place) read(r *round) {
	p.runs = make([]run, len(r.Line))
	p.floor = -1
	if position, known := r.positions[p.env.Commit]; known {
		p.floor = position
	}
	var running []int
	last := -1 // the commit promoted last
	end := func(at time.Time) {
		for _, i := range running {
			p.runs[i].longest = max(p.runs[i].longest, at.Sub(p.runs[i].start))
			p.runs[i].start = time.Time{}
		}
		running = running[:0]
	}
	for _, s := range p.env.History {
		position, known := r.positions[s.Commit]
		if !known {
			position = -1
		}
		p.floor = max(p.floor, position)
		for i := range position + 1 {
			p.runs[i].lost = s.Kind == StepFailed
		}
		if known {
			p.runs[position].failed = s.Kind == StepFailed
		}
		switch s.Kind {
		case StepStarted:
			if position < last || !known {
				end(s.At)
			}
			last = position
		case StepFailed:
			end(s.At)
		case StepDeployed:
			if known && p.runs[position].first.IsZero() {
				p.runs[position].first = s.At
			}
			if known && p.runs[position].start.IsZero() {
				p.runs[position].arrived, p.runs[position].start = true, s.At
				running = append(running, position)
			}
		}
	}
	for _, i := range running {
		p.runs[i].longest = max(p.runs[i].longest, r.now.Sub(p.runs[i].start))
	}
}

// GoodCommits returns the commits that an environment can be rolled back to, newest first: those that were deployed
// before the present commit. Commits that failed after they were deployed, or that were rolled back, are left out.
// steps is the history of the environment, oldest first. If present is empty, it is the last promoted commit.
//
// The commits up to the present one form a stack: a promotion pushes a commit, and a rollback removes all commits above its
// target. So a second rollback goes further back, and never returns to the commit that the first one removed.
func GoodCommits(steps []Step, present string) []string {
	var stack []string
	good := map[string]bool{}
	enter := func(commit string) {
		if i := slices.Index(stack, commit); i >= 0 {
			stack = stack[:i+1]
			return
		}
		stack = append(stack, commit)
		good[commit] = false
	}
	for _, s := range steps {
		switch s.Kind {
		case StepStarted:
			enter(s.Commit)
		case StepDeployed:
			enter(s.Commit)
			good[s.Commit] = true
		case StepFailed:
			good[s.Commit] = false
		}
	}
	if present != "" {
		enter(present)
	}
	if len(stack) == 0 {
		return nil
	}
	earlier := slices.DeleteFunc(stack[:len(stack)-1], func(c string) bool { return !good[c] })
	slices.Reverse(earlier)
	return earlier
}

// lastGood returns the commit to roll back to, leaving out aborted ones, or "". A ring, which goes back without a user, does not go
// back to a newer commit, which it ran before a user requested an older one.
func (r *round) lastGood(p *place) string {
	for _, c := range GoodCommits(p.env.History, p.env.Commit) {
		if newer := r.positions[c] > r.positions[p.env.Commit]; p.env.aborted(c) == nil && !(p.rules.ring && newer) {
			return c
		}
	}
	return ""
}

// formerCommit returns the commit that was promoted before an aborted one, if the GitOps branch still has the former one's manifests; else "".
func (p *place) formerCommit() string {
	if p.phase != Aborted || p.env.Rollout.State == RolloutMerged {
		return ""
	}
	i := len(p.env.History) - 1
	for i >= 0 && p.env.History[i].Commit == p.env.Commit {
		if p.env.History[i].Kind != StepStarted {
			return "" // its manifests were merged at some time
		}
		i--
	}
	if i < 0 || p.env.History[i].Kind == StepStarted || p.env.aborted(p.env.History[i].Commit) != nil {
		return "" // nothing says that the former commit's manifests were merged
	}
	return p.env.History[i].Commit
}
