package decide_test

import (
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// past is the short notation of what a place had: "started c4 09:00", "deployed c4 g4 09:10" and "failed c4 g4 09:20", also "silent",
// "drifted", and "ran", which is to be deployed without having passed the verifications,
// and "refuted": they failed.
type past struct {
	now      time.Time
	checks   []string // names
	carriers []decide.Carrier
}

// add adds a line.
func (p *past) add(text string) {
	w := strings.Fields(text)
	kind, commit, at, revision := w[0], w[1], clock(w[len(w)-1]), ""
	if len(w) == 4 {
		revision = w[2]
	}
	n := len(p.carriers)
	last := &decide.Carrier{}
	if n > 0 {
		last = &p.carriers[n-1]
	}
	if kind == "started" || last.Commit != commit || revision != "" && last.Revision != "" && last.Revision != revision {
		p.enter(commit, at)
		last = &p.carriers[len(p.carriers)-1]
	}
	if kind == "started" {
		return
	}
	if last.Revision = revision; revision == "" {
		last.Revision = "g" + commit
	}
	standing := map[string]comply.Standing{
		"deployed": comply.StandingHolds, "ran": comply.StandingHolds, "refuted": comply.StandingHolds, "failed": comply.StandingFailed, "silent": comply.StandingUnknown, "drifted": comply.StandingLost,
	}[kind]
	p.span(at, standing)
	for _, name := range p.checks {
		r := decide.CheckResult{Name: name, Revision: last.Revision, State: decide.CheckPassed, At: at}
		switch kind {
		case "refuted":
			r.State = decide.CheckFailed
			last.Checks = append(last.Checks, r)
		case "deployed":
			last.Checks = append(last.Checks, r)
			last.Approvals = append(last.Approvals, decide.Approval{Check: name, By: "anna", At: at}, decide.Approval{Check: name, By: "ben", At: at})
		}
	}
}

func (p *past) enter(commit string, at time.Time) {
	if n := len(p.carriers); n > 0 && p.carriers[n-1].Revision == "" {
		p.carriers = p.carriers[:n-1] // its manifests were never merged
		if n > 1 {
			p.carriers[n-2].Left = time.Time{}
		}
	}
	if n := len(p.carriers); n > 0 {
		last := &p.carriers[n-1]
		last.Left = at
		if s := len(last.Spans); s > 0 {
			last.Spans[s-1].To = at
		}
	}
	p.carriers = append(p.carriers, decide.Carrier{Commit: commit, Entered: at})
}

func (p *past) span(at time.Time, standing comply.Standing) {
	last := &p.carriers[len(p.carriers)-1]
	if n := len(last.Spans); n > 0 {
		last.Spans[n-1].To = at
	} else if at.After(last.Entered) {
		last.Spans = append(last.Spans, comply.Span{From: last.Entered, To: at, Standing: comply.StandingWaiting})
	}
	last.Spans = append(last.Spans, comply.Span{From: at, To: p.now, Standing: standing})
}

// of returns the carriers of a place that has a commit now.
func (p *past) of(commit string, r decide.Rollout) []decide.Carrier {
	all := slices.Clone(p.carriers)
	n := len(all)
	if n == 0 || all[n-1].Revision != "" {
		return all
	}
	if all[n-1].Commit == commit && r.State == decide.RolloutMerged {
		all[n-1].Revision = r.Commit
		return all
	}
	if all = all[:n-1]; n > 1 {
		all[n-2].Left = time.Time{}
		if s := len(all[n-2].Spans); s > 0 {
			all[n-2].Spans[s-1].To = p.now
		}
	}
	return all
}

// never is the end of spans that last until now.
var never = clock("10:00").AddDate(1, 0, 0)

// ranAt adds that a place got a commit and ran it at once. In rings, revisions are commits.
func ranAt(all []decide.Carrier, commit string, at time.Time) []decide.Carrier {
	if n := len(all); n > 0 {
		all = slices.Clone(all)
		last := &all[n-1]
		last.Left = at
		last.Spans = slices.Clone(last.Spans)
		if s := len(last.Spans); s > 0 {
			last.Spans[s-1].To = at
		}
	}
	return append(all, decide.Carrier{
		Commit: commit, Revision: commit, Entered: at, Spans: []comply.Span{{From: at, To: never, Standing: comply.StandingHolds}},
	})
}

// then adds that the gate says something else about the last commit from a time on.
func then(all []decide.Carrier, standing comply.Standing, at time.Time) []decide.Carrier {
	all = slices.Clone(all)
	last := &all[len(all)-1]
	last.Spans = slices.Clone(last.Spans)
	last.Spans[len(last.Spans)-1].To = at
	last.Spans = append(last.Spans, comply.Span{From: at, To: never, Standing: standing})
	return all
}
