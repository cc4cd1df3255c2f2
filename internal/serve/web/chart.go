package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// The size of a drawing, in units of its SVG, which is stretched to the width of the page. Labels are text beside
// it, which is not stretched.
const chartWidth, chartHeight, chartTop = 1000, 180, 6

// chart is a drawing with two axes. Label is its description; a table beside it has the numbers.
type chart struct {
	Label string
	Bars  []chartBar
	// Line is the path of a line, and Area that of the area below; empty for bar charts.
	Line, Area string
	// Goal is the y coordinate of the target line; 0 for none.
	Goal int
	// Most and Half label the y axis: at the top, and at HalfY; Half is empty unless it is a whole number. From and
	// To are the ends of the x axis.
	Most, Half, From, To string
	// Size is the size of the drawing, TopY the y coordinate of Most, and HalfY that of Half.
	Size        chartSize
	TopY, HalfY int
}

// chartSize is the size of a chart.
type chartSize struct{ Width, Height int }

// chartBar is a bar. The failed part is at its bottom.
type chartBar struct {
	X, Y, Width, Height int
	FailedHeight        int
	FailedY             int
	Title               string
}

// newChart returns a chart whose y axis ends at most.
func newChart(label string, most int, from, to string) *chart {
	c := &chart{
		Label: label, Most: number(most), From: from, To: to, Size: chartSize{chartWidth, chartHeight},
		TopY: chartTop, HalfY: height(0.5, 1),
	}
	if most%2 == 0 {
		c.Half = number(most / 2)
	}
	return c
}

// height returns the y coordinate of a value on a scale up to most.
func height(value, most float64) int {
	if most <= 0 {
		return chartHeight
	}
	return chartHeight - int(value/most*(chartHeight-chartTop))
}

// barChart draws the deployments of each part of a period, with those that were never ready; nil if there are none.
func barChart(label string, parts []query.Part) *chart {
	if len(parts) == 0 {
		return nil
	}
	most := 0
	for _, p := range parts {
		most = max(most, p.Deployments+p.NeverReady)
	}
	if most == 0 {
		return nil
	}
	c := newChart(label, most, parts[0].From.Format("2 Jan"), parts[len(parts)-1].To.Format("2 Jan"))
	step := chartWidth / len(parts)
	for i, p := range parts {
		y := height(float64(p.Deployments+p.NeverReady), float64(most))
		failed := height(float64(p.Failed), float64(most))
		c.Bars = append(c.Bars, chartBar{
			X: i*step + 2, Y: y, Width: max(1, step-4), Height: chartHeight - y, FailedY: failed, FailedHeight: chartHeight - failed,
			Title: fmt.Sprintf("%s: %d deployed, %d never ready, %d failed", p.From.Format("2 January"), p.Deployments, p.NeverReady, p.Failed),
		})
	}
	return c
}

// convergence draws how many of the expected clusters had arrived at each time; nil if none had.
func convergence(label string, arrived []time.Time, from, to time.Time, expected int) *chart {
	if len(arrived) == 0 || expected == 0 || !to.After(from) {
		return nil
	}
	arrived = slices.Clone(arrived)
	slices.SortFunc(arrived, time.Time.Compare)
	if arrived[0].Before(from) {
		from = arrived[0]
	}
	most := float64(max(expected, len(arrived)))
	x := func(t time.Time) int {
		part := float64(t.Sub(from)) / float64(to.Sub(from))
		return int(min(1, max(0, part)) * chartWidth)
	}
	c := newChart(label, max(expected, len(arrived)), from.Format("2 Jan 15:04"), to.Format("2 Jan 15:04"))
	var path strings.Builder
	fmt.Fprintf(&path, "M0 %d", height(0, most))
	for i, t := range arrived {
		if next := i + 1; next < len(arrived) && x(arrived[next]) == x(t) {
			continue // they would be drawn over each other
		}
		fmt.Fprintf(&path, "H%dV%d", x(t), height(float64(i+1), most))
	}
	fmt.Fprintf(&path, "H%d", chartWidth)
	c.Line = path.String()
	c.Area = fmt.Sprintf("%sV%dH0Z", c.Line, height(0, most))
	c.Goal = height(float64(expected), most)
	return c
}
