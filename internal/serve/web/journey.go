package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// journey is the way of a commit through environments and rings, on one axis of time.
type journey struct {
	Ticks []journeyTick
	Rows  []journeyRow
}

// journeyTick labels the axis at X percent of its width.
type journeyTick struct {
	X    float64
	Text string
}

// journeyRow is the way of a commit through one environment, or one ring of it.
type journeyRow struct {
	Environment, Ring string
	// State is the present state, and Since when it began; zero if unknown.
	State any
	Since time.Time
	Spans []journeySpan
}

// journeySpan is a time in one state. From and Width are percentages of the axis.
type journeySpan struct {
	Tone        string
	From, Width float64
	// Word is what stands in the span; empty if there is no room for it.
	Word string
	// Title is the whole text: the state, when it began and how long it lasted.
	Title string
}

// Label says the spans of a row in words.
func (r journeyRow) Label() string {
	var texts []string
	for _, s := range r.Spans {
		texts = append(texts, s.Title)
	}
	if len(texts) == 0 {
		return "nothing yet"
	}
	return strings.Join(texts, "; ")
}

// The widths of spans in percent: the smallest that is drawn, and the smallest with a word.
const minSpan, wordSpan = 0.5, 9.0

// journeyOf draws the stages of a commit. Nil if nothing happened yet.
func journeyOf(stages []query.PromotionStage, now time.Time) *journey {
	var lanes []lane
	for _, s := range stages {
		lanes = append(lanes, lanesOf(s)...)
	}
	from, until := period(lanes, now)
	if from.IsZero() {
		return nil
	}
	j := &journey{Ticks: ticksOf(from, until)}
	for _, l := range lanes {
		j.Rows = append(j.Rows, l.row(from, until))
	}
	return j
}

// lane is what is known about one row: its changes by time, the present state, and whether the commit is still there.
type lane struct {
	environment, ring string
	changes           []stateChange
	state             any
	current           bool
}

// stateChange is a change to a state. The last change of a commit that left the environment has no known end.
type stateChange struct {
	at    time.Time
	state string
}

// lanesOf returns the lane of an environment, and those of its rings.
func lanesOf(s query.PromotionStage) []lane {
	lanes := []lane{{s.Environment, "", changesOf(s.Steps), stageState(s), s.Current || s.Candidate}}
	for _, r := range s.Rings {
		var steps []ledger.Step
		for _, step := range s.RingSteps {
			if _, name := decide.SplitRing(step.Environment); name == r.Name || strings.HasPrefix(name, r.Name+".") {
				steps = append(steps, step)
			}
		}
		var state any = string(r.Phase)
		here := r.Source == "" || len(steps) > 0
		if !here {
			state = "notYet"
		}
		lanes = append(lanes, lane{s.Environment, r.Name, changesOf(steps), state, here})
	}
	return lanes
}

// changesOf returns the changes of state that steps tell, without repetitions. Of several batches the state is the
// worst.
func changesOf(steps []ledger.Step) []stateChange {
	batches := map[string]string{}
	var changes []stateChange
	for _, step := range steps {
		state := stateAfter(step)
		if state == "" {
			continue
		}
		batches[step.Environment] = state
		worst := state
		for _, other := range batches {
			if severity(other) > severity(worst) || severity(other) == severity(worst) && other < worst {
				worst = other
			}
		}
		n := len(changes)
		switch {
		case n > 0 && changes[n-1].state == worst:
		case n > 0 && changes[n-1].at.Equal(step.At):
			changes[n-1].state = worst
		default:
			changes = append(changes, stateChange{step.At, worst})
		}
	}
	return changes
}

// severity orders tones, the worst last.
func severity(state string) int {
	return slices.Index([]string{off, good, move, warn, bad}, tone(state))
}

// stateAfter returns the state that a step tells; empty if it tells none.
func stateAfter(step ledger.Step) string {
	switch decide.StepKind(step.Kind) {
	case promote.StateChanged:
		var detail promote.Detail
		_ = json.Unmarshal(step.Detail, &detail) // unknown details are not shown
		return string(detail.Phase)
	case decide.StepStarted:
		return string(decide.Applying)
	case decide.StepDeployed, decide.StepFailed, promote.Aborted, promote.RolledBack:
		return step.Kind
	}
	return ""
}

// period returns when the axis begins and ends: with the first change, and now. If nothing moves any more it ends
// soon after the last change, since the rest would press together what happened. From is zero without changes.
func period(lanes []lane, now time.Time) (from, until time.Time) {
	moves := false
	for _, l := range lanes {
		for i, c := range l.changes {
			if from.IsZero() || c.at.Before(from) {
				from = c.at
			}
			if c.at.After(until) {
				until = c.at
			}
			last := i == len(l.changes)-1
			moves = moves || last && l.current && tone(c.state) != good
		}
	}
	if moves && now.After(until) {
		return from, now
	}
	return from, until.Add(max(until.Sub(from)/6, 5*time.Second))
}

// row draws a lane.
func (l lane) row(from, until time.Time) journeyRow {
	r := journeyRow{Environment: l.environment, Ring: l.ring, State: l.state}
	share := func(d time.Duration) float64 { return 100 * float64(d) / float64(until.Sub(from)) }
	for i, c := range l.changes {
		last := i == len(l.changes)-1
		end, length := c.at, ""
		switch {
		case !last:
			end = l.changes[i+1].at
			length = ", for " + duration(end.Sub(c.at))
		case l.current:
			end = until
			r.Since = c.at
		}
		s := journeySpan{Tone: tone(c.state), From: hundredths(share(c.at.Sub(from)))}
		s.Width = hundredths(min(max(share(end.Sub(c.at)), minSpan), 100-s.From))
		s.Title = label(c.state) + ", " + c.at.UTC().Format("2 Jan 15:04:05") + length
		if s.Width >= wordSpan {
			s.Word = label(c.state)
		}
		r.Spans = append(r.Spans, s)
	}
	return r
}

// tickSteps are the distances of ticks.
var tickSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour,
}

// maxTicks limits the labels of the axis.
const maxTicks = 6

// ticksOf returns the ticks of the axis, at round times.
func ticksOf(from, until time.Time) []journeyTick {
	length := until.Sub(from)
	i := slices.IndexFunc(tickSteps, func(d time.Duration) bool { return length/d < maxTicks })
	if i < 0 {
		i = len(tickSteps) - 1
	}
	step := max(tickSteps[i], length/maxTicks)
	form := "2 Jan"
	switch {
	case step < time.Minute:
		form = "15:04:05"
	case step < 12*time.Hour:
		form = "15:04"
	case step < 24*time.Hour:
		form = "2 Jan 15:04"
	}
	var ticks []journeyTick
	for at := from.UTC().Truncate(step); !at.After(until); at = at.Add(step) {
		x := hundredths(100 * float64(at.Sub(from)) / float64(length))
		if x >= 0 && x <= 94 { // a label further right would be cut
			ticks = append(ticks, journeyTick{x, at.Format(form)})
		}
	}
	return ticks
}

// evidenceView is a step that speaks for or against a commit, or that a user did.
type evidenceView struct {
	stepView
	// Place is the environment, with the ring if it is one's.
	Place string
}

// evidenceKinds are the kinds of steps that are evidence.
var evidenceKinds = []decide.StepKind{
	decide.StepDeployed, decide.StepFailed, promote.Verified, promote.Approved, promote.Bypassed, promote.Reviewed, promote.Ran,
	promote.Paused, promote.Resumed, promote.Aborted, promote.Requested, promote.RolledBack, promote.Skipped, promote.Withdrawn,
}

// evidenceOf returns the evidence of all stages, the newest first.
func evidenceOf(stages []query.PromotionStage) []evidenceView {
	var found []evidenceView
	for _, s := range stages {
		for _, step := range slices.Concat(s.Steps, s.RingSteps) {
			if slices.Contains(evidenceKinds, decide.StepKind(step.Kind)) {
				found = append(found, evidenceView{stepOf(step), step.Environment})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b evidenceView) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Place, b.Place)) })
	return found
}

// commitStrip returns the figures of a commit: how far it is, and what is next.
func commitStrip(stages []query.PromotionStage) []figure {
	var strip []figure
	reached, counted, deployed := 0, 0, 0
	var first, last time.Time
	for _, s := range stages {
		if g := s.Gate; g != nil {
			reached, counted = reached+g.Counts.Reached, counted+g.Counts.Counted
		}
		if !s.Started.IsZero() && (first.IsZero() || s.Started.Before(first)) {
			first = s.Started
		}
		if !s.Deployed.IsZero() {
			deployed++
		}
		if s.Deployed.After(last) {
			last = s.Deployed
		}
	}
	strip = append(strip, figure{Name: "Deployed to", Value: number(deployed), Unit: "of " + count(len(stages), "environment")})
	if counted > 0 {
		strip = append(strip, figure{Name: "Runs it now", Value: number(reached), Unit: "of " + count(counted, "cluster"), Parts: barOf([]stateCount{{"reached", reached}, {"unknown", counted - reached}})})
	}
	if deployed > 0 && last.After(first) {
		strip = append(strip, figure{Name: "Time so far", Value: duration(last.Sub(first)), Note: "first step to last deployment"})
	}
	if i := slices.IndexFunc(stages, func(s query.PromotionStage) bool { return s.Deployed.IsZero() }); i >= 0 {
		next := figure{Name: "Next", Value: stages[i].Environment, Address: "/environments/" + stages[i].Environment}
		next.Note = label(stageState(stages[i]))
		strip = append(strip, next)
	}
	return strip
}
