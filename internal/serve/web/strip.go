package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// figure is one number in the strip above the board.
type figure struct {
	Name, Value string
	// Unit is small behind the value, and Note a line below it; optional.
	Unit, Note string
	// Address is the page with more about it.
	Address string
	// Parts are those of a bar; empty for none.
	Parts []barPart
	// Spark draws its course, in a tone; nil if nothing is drawn.
	Spark *spark
}

// spark is a small line without axes, in a box of sparkWidth by sparkHeight. The numbers are on the page of figures.
type spark struct{ Tone, Line, Area string }

// The size of sparks, in units of the SVG.
const sparkWidth, sparkHeight = 120, 26

// sparkOf draws a course; nil if it is all zero.
func sparkOf(sparkTone string, values []int) *spark {
	most := 0
	for _, v := range values {
		most = max(most, v)
	}
	if most == 0 || len(values) < 2 {
		return nil
	}
	var path strings.Builder
	for i, v := range values {
		x := float64(i) * sparkWidth / float64(len(values)-1)
		y := sparkHeight - 2 - float64(v)/float64(most)*(sparkHeight-5)
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
	}
	line := path.String()
	return &spark{sparkTone, line, fmt.Sprintf("%sL%d %dL0 %dZ", line, sparkWidth, sparkHeight, sparkHeight)}
}

// stripDays is the period of the figures above the board.
const stripDays = 7

// strip returns the figures above the board.
func (s *site) strip(q *pageRequest, environments []query.Environment) ([]figure, error) {
	figures, parts, err := q.observer.Course(q.Context(), query.FiguresQuery{To: q.now, From: q.now.AddDate(0, 0, -stripDays)}, 2*stripDays)
	if err != nil {
		return nil, err
	}
	var deployed, failed []int
	failures := 0
	for _, p := range parts {
		deployed, failed = append(deployed, p.Deployments), append(failed, p.Failed)
		failures += p.Failed
	}
	const page = "/figures?days=7"
	total := figures.Total
	strip := []figure{
		upToDate(environments),
		{Name: "Deployments, 7 days", Value: number(total.Deployments), Address: page, Spark: sparkOf(move, deployed)},
		{Name: "Lead time, median", Value: lasted(total.LeadTimeSeconds), Address: page, Note: "from build to cluster"},
		{Name: "Failed, 7 days", Value: number(failures), Unit: fmt.Sprintf("%.0f%%", total.ChangeFailureRate*100), Address: page, Spark: sparkOf(bad, failed)},
		{Name: "Recovered in, median", Value: lasted(total.TimeToRestoreSeconds), Address: page},
	}
	if n := total.OpenIncidents; n > 0 {
		strip[4].Note = count(n, "incident") + " open"
	}
	return strip, nil
}

// lasted formats a duration in seconds; zero is unknown.
func lasted(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return duration(time.Duration(seconds * float64(time.Second)))
}

// upToDate counts the clusters of all environments that run what they should, themselves and with their workloads.
func upToDate(environments []query.Environment) figure {
	var c query.MapCounts
	causes := 0
	for _, e := range environments {
		if e.Health == nil {
			continue
		}
		c = c.Plus(e.Health.Clusters)
		if e.Gate != nil {
			causes += len(e.Gate.Causes)
		}
		causes += e.Health.FailingTargets
	}
	f := figure{Name: "Up to date", Value: number(c.Ready), Unit: "of " + number(c.Total), Address: "/clusters"}
	var parts []stateCount
	for _, s := range slices.Backward(query.MapStates()) {
		parts = append(parts, stateCount{s, c.Of(s)})
	}
	f.Parts = barOf(parts)
	if rest := c.Total - c.Ready; rest > 0 && causes > 0 {
		f.Note = fmt.Sprintf("%s behind the other %s", count(causes, "cause"), number(rest))
	}
	return f
}
