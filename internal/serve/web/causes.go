package web

import (
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// eventGroup is an event with those of the same day that have the same cause, newest first.
type eventGroup struct {
	eventView
	// Rest are the other events of the group, which the page folds.
	Rest []eventView
	// Tally counts the events of the group by state, with the first one.
	Tally []stateCount
}

// groupsOf groups events by cause: the commit that was rolled out in an environment, or the message of what failed.
func groupsOf(events []eventView) []eventGroup {
	var groups []eventGroup
	at := map[string]int{}
	day := ""
	for _, e := range events {
		if e.Day != "" {
			day = e.Day
		}
		key := causeOf(e.Event)
		i, ok := at[day+key]
		if key == "" || !ok {
			at[day+key] = len(groups)
			groups = append(groups, eventGroup{eventView: e})
			continue
		}
		groups[i].Rest = append(groups[i].Rest, e)
	}
	for i := range groups {
		counts := map[any]int{}
		for _, e := range append([]eventView{groups[i].eventView}, groups[i].Rest...) {
			if e.State != nil {
				counts[e.State]++
			}
		}
		if len(groups[i].Rest) > 0 {
			groups[i].Tally = countsOf(counts)
		}
	}
	return groups
}

// causeOf identifies the cause of an event; empty for an event of its own.
func causeOf(e query.Event) string {
	switch {
	case e.Kind == query.EventRegistration || e.Kind == query.EventAudit:
		return ""
	case e.Commit != "":
		return fmt.Sprintf("%s %s %s %s", e.Environment, e.Workload, e.Ring, e.Commit)
	case e.Reason != "":
		return fmt.Sprintf("%s %s", e.State, brief(e.Reason))
	case e.Revision != "":
		return fmt.Sprintf("%s %s %s", e.Environment, e.Workload, e.Revision)
	}
	return ""
}

// histogramBar is a bar of the histogram of events: those of a part of the time, by tone.
type histogramBar struct {
	X, Width int
	Parts    []histogramPart
	Title    string
}

type histogramPart struct {
	Tone      string
	Y, Height int
}

// histogram shows when the events of a page happened.
type histogram struct {
	Width, Height int
	Bars          []histogramBar
	From, To      string
}

// Sizes of the histogram, in units of the SVG.
const (
	histogramBars   = 60
	histogramHeight = 56
	histogramStep   = 16
)

// histogramOf draws events, newest first; nil for too few.
func histogramOf(events []eventView) *histogram {
	if len(events) < 3 {
		return nil
	}
	first, last := events[len(events)-1].At, events[0].At
	span := last.Sub(first)
	if span <= 0 {
		return nil
	}
	counts := make([]map[string]int, histogramBars)
	most := 1
	for _, e := range events {
		i := min(histogramBars-1, int(float64(e.At.Sub(first))/float64(span)*histogramBars))
		if counts[i] == nil {
			counts[i] = map[string]int{}
		}
		counts[i][tone(e.State)]++
		n := 0
		for _, c := range counts[i] {
			n += c
		}
		most = max(most, n)
	}
	h := &histogram{Width: histogramBars * histogramStep, Height: histogramHeight, From: first.UTC().Format("2 Jan 15:04"), To: last.UTC().Format("2 Jan 15:04")}
	for i, c := range counts {
		if c == nil {
			continue
		}
		b := histogramBar{X: i*histogramStep + 1, Width: histogramStep - 3}
		y, n := histogramHeight, 0
		for _, t := range []string{good, move, off, warn, bad} {
			if c[t] == 0 {
				continue
			}
			height := max(3, c[t]*(histogramHeight-4)/most)
			y, n = y-height, n+c[t]
			b.Parts = append(b.Parts, histogramPart{t, y, height - 1})
		}
		b.Title = first.Add(span/histogramBars*time.Duration(i)).UTC().Format("2 Jan 15:04") + ": " + count(n, "event")
		if c[bad] > 0 {
			b.Title += fmt.Sprintf(", %d failed", c[bad])
		}
		h.Bars = append(h.Bars, b)
	}
	return h
}
