package decide

import "time"

// run is how long a commit ran in an environment without failure: the commit, or one after it, which contains it.
type run struct {
	arrived bool
	// longest is the longest time.
	longest time.Duration
	// start is when it began to run last, if it still does; zero if it does not.
	start time.Time
}

// read finds out from the history how long each commit of the line ran, and which is the newest that ever entered.
// A run ends with a failure, and when an older commit, or one that nobody knows, takes its place.
func (p *place) read(r *round) {
	p.runs = make([]run, len(r.Line))
	p.floor = -1
	if position, known := r.positions[p.env.Commit]; known {
		p.floor = position
	}
	var running []int
	last := -1 // what entered last
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
		switch s.Kind {
		case Entered:
			if position < last || !known {
				end(s.At)
			}
			last = position
		case FailedHere:
			end(s.At)
		case Arrived:
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

// wayBack is the commit that ran last before the present one and did not fail since; empty when there is none.
func (e *Environment) wayBack() string {
	failed := map[string]bool{}
	for i := len(e.History) - 1; i >= 0; i-- {
		s := e.History[i]
		switch {
		case s.Commit == e.Commit || e.aborted(s.Commit) != nil:
		case s.Kind == FailedHere:
			failed[s.Commit] = true
		case s.Kind == Arrived && !failed[s.Commit]:
			return s.Commit
		}
	}
	return ""
}
