package decide

import (
	"fmt"
	"time"
)

// candidate is the commit to promote next to an environment.
type candidate struct {
	commit string // empty if there is no candidate
	wait          // why the commit cannot be promoted yet
}

// wait is the reason why a commit cannot be promoted yet. The zero value means that it does not have to wait.
type wait struct {
	// why formats the reason. It is a function because only one of many reasons is shown.
	why func() string
	// until is when the wait ends by itself; zero if it does not.
	until time.Time
}

func (w wait) over() bool { return w.why == nil }

func waitFor(format string, args ...any) wait {
	return wait{why: func() string { return fmt.Sprintf(format, args...) }}
}

// candidate returns the commit to promote next: the requested commit, or the newest commit that is ready.
// If no commit is ready, it returns the newest commit and the reason why it waits.
func (r *round) candidate(p *place) candidate {
	var newest candidate
	if order := p.request(); order != nil {
		position, known := r.positions[order.Commit]
		if known {
			return r.ordered(p, order, position)
		}
		// A forced push may have removed the commit for good, so it does not block other commits.
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
			break // the first environment takes only the head of the branch
		}
	}
	return newest
}

// ordered returns a requested commit as the candidate, even if it is older than the environment's commit.
func (r *round) ordered(p *place, order *Request, position int) candidate {
	w := r.wait(p, position)
	if !w.over() {
		why := w.why
		w.why = func() string { return fmt.Sprintf("requested by %s, %s", order.By, why()) }
	}
	return candidate{order.Commit, w}
}

// wait returns the reason why a commit of the line cannot be promoted to an environment yet.
func (r *round) wait(p *place, position int) wait {
	commit := r.Line[position]
	if a := r.aborted(p, commit); a != nil {
		return waitFor("it %s", a)
	}
	if bar := r.barred(p, commit); bar != "" {
		return waitFor("it %s", bar)
	}
	_, skipsSoak := r.hurries(p, commit)
	for i, before := range p.before {
		if before == nil {
			return waitFor("%s is not in the chain", p.rules.After[i])
		}
		soak := p.rules.Soak
		if before.rules.ring {
			soak = before.rules.Soak
		}
		if skipsSoak {
			soak = 0
		}
		if before.env.skipped(commit) || r.delayed(before, position) {
			continue
		}
		if before.rules.site != nil && before.siteClosed() != "" && !r.ranSince(before, position) && !r.lostSince(before, position) && r.aborted(before, commit) == nil {
			return waitFor("it waits in %s for longer than %s: %s", before.name, span(before.rules.maxDelay), before.siteClosed())
		}
		if w := r.holdsBack(before, commit, soak); !w.over() {
			return w
		}
	}
	if failed := r.failedBeside(p, position); failed != "" {
		return waitFor("it failed in %s", failed)
	}
	return wait{}
}

// holdsBack returns the reason why a commit cannot be promoted from this environment to the next yet.
func (r *round) holdsBack(p *place, commit string, soak time.Duration) wait {
	here := p.env.Commit == commit
	ev := p.evidence[commit]
	switch back := r.takenBack(p, commit); {
	case p.state == Unknown:
		return waitFor("in %s %s", p.name, p.why)
	case back != "":
		return waitFor("in %s it %s", p.name, back)
	case here && p.state == Failed && p.later:
		return waitFor("a later change of %s failed", p.name)
	case here && (p.state == Unproven || p.state == Drifted):
		return waitFor("in %s it %s", p.name, p.why)
	case here && !p.state.Deployed() && !p.later:
		return waitFor("%s", p.progress())
	case ev == nil:
		return waitFor("it does not run in %s", p.name)
	case ev.abandoned:
		return waitFor("%s went back from it", p.name)
	case ev.failed || ev.proven.IsZero() && !ev.first.IsZero():
		return waitFor("it failed in %s", p.name)
	case ev.proven.IsZero() && p.env.Rings && p.rollsOut(commit):
		return waitFor("it is being deployed in %s", p.name)
	case ev.proven.IsZero():
		return waitFor("it was replaced in %s before it ran everywhere and passed its verifications", p.name)
	case ev.longest >= soak:
		return wait{}
	case ev.runs:
		until := r.now.Add(soak - ev.clock)
		w := wait{until: until}
		w.why = func() string { return fmt.Sprintf("it soaks in %s until %s", p.name, clock(until, r.now)) }
		return w
	default:
		return waitFor("it ran in %s for %s without failure, not for %s", p.name, span(ev.longest), span(soak))
	}
}

// progress describes the progress of the environment's commit for later environments. The whole reason is shown in the
// environment itself.
func (p *place) progress() string {
	switch p.state {
	case Proposed:
		return "its pull request in " + p.name + " is not merged yet"
	case Rejected:
		if p.env.Rollout.State == RolloutClosed {
			return "its pull request in " + p.name + " was closed"
		}
		return "it needs approval in " + p.name
	case NoClusters:
		return p.name + " has no clusters"
	case Applying, GoingBack:
		return "it is being deployed in " + p.name
	case Checking, Awaiting:
		return "it is being verified in " + p.name
	default:
		return "it failed in " + p.name
	}
}

// span formats a duration, truncated to minutes if it is at least one minute.
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
