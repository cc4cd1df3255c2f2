package decide

import (
	"fmt"
	"time"
)

// candidate is the commit that is next to enter an environment.
type candidate struct {
	commit string // empty when there is none
	wait          // what it waits for in the environments before
}

// wait is why a commit does not go on. The zero value is that it does.
type wait struct {
	// why says it in words. They are made when somebody wants to read them: of all that wait, only one is shown.
	why func() string
	// until is when the waiting ends by itself; zero when it does not.
	until time.Time
}

func (w wait) over() bool { return w.why == nil }

func waitFor(format string, args ...any) wait {
	return wait{why: func() string { return fmt.Sprintf(format, args...) }}
}

// candidate finds the commit that enters next: what a person ordered, or the newest that is ready.
// When none is ready it is the newest of all, with what it waits for.
func (r *round) candidate(p *place) candidate {
	var newest candidate
	if order := p.env.Order; order != nil && order.Commit != p.env.Commit {
		position, known := r.positions[order.Commit]
		if known {
			return r.ordered(p, order, position)
		}
		// It may have been pushed over, and may never come: it stops nobody else.
		newest = candidate{order.Commit, waitFor("it is not on the branch")}
	}
	for i := len(r.Line) - 1; i > p.floor; i-- {
		c := candidate{r.Line[i], r.wait(p, i)}
		if c.over() {
			return c
		}
		if i == len(r.Line)-1 {
			newest = c
		}
		if len(p.rules.After) == 0 {
			break // a first environment takes the head, and nothing that was overtaken before it was seen
		}
	}
	return newest
}

// ordered considers what a person ordered, whether or not it is newer than what is there.
func (r *round) ordered(p *place, order *Order, position int) candidate {
	w := r.wait(p, position)
	if !w.over() {
		why := w.why
		w.why = func() string { return fmt.Sprintf("ordered by %s, %s", order.By, why()) }
	}
	return candidate{order.Commit, w}
}

// wait says what a commit of the line waits for before an environment.
func (r *round) wait(p *place, position int) wait {
	if a := p.env.aborted(r.Line[position]); a != nil {
		return waitFor("it %s", a)
	}
	for _, name := range p.rules.After {
		before := r.places[name]
		if before == nil {
			return waitFor("%s is not in the chain", name)
		}
		if w := before.holdsBack(r.Line[position], before.runs[position], p.rules.Soak, r.now); !w.over() {
			return w
		}
	}
	return wait{}
}

// holdsBack says why a commit does not go on from here yet.
func (p *place) holdsBack(commit string, ran run, soak time.Duration, now time.Time) wait {
	here := p.env.Commit == commit
	abort := p.env.aborted(commit)
	switch {
	case p.phase == Unknown:
		return waitFor("in %s %s", p.name, p.why)
	case abort != nil:
		return waitFor("in %s it %s", p.name, abort)
	case here && (p.phase == Failed || !ran.arrived):
		return waitFor("in %s it %s", p.name, p.why)
	case !ran.arrived:
		return waitFor("it does not run in %s", p.name)
	case ran.longest >= soak:
		return wait{}
	case ran.start.IsZero():
		return waitFor("it ran in %s for %s without failure, not for %s", p.name, span(ran.longest), span(soak))
	default:
		until := ran.start.Add(soak)
		w := wait{until: until}
		w.why = func() string { return fmt.Sprintf("it soaks in %s until %s", p.name, clock(until, now)) }
		return w
	}
}

// span writes a duration to the minute, or exactly when it is shorter.
func span(d time.Duration) string {
	if d < time.Minute {
		return d.String()
	}
	d = d.Truncate(time.Minute)
	hours, minutes := d/time.Hour, d%time.Hour/time.Minute
	switch {
	case hours == 0:
		return fmt.Sprintf("%dm", minutes)
	case minutes == 0:
		return fmt.Sprintf("%dh", hours)
	default:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	}
}
