package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// The size of charts, in units of the SVG.
const (
	chartWidth, chartHeight = 640, 160
	chartLeft, chartBottom  = 34, 20
	chartTop                = 8
)

// chart is a drawing with two axes. Label is its description; a table beside it has the numbers.
type chart struct {
	Label string
	Bars  []chartBar
	// Line is the path of a line, and Area that of the area below; empty for bar charts.
	Line, Area string
	// Goal is the y coordinate of the target line; 0 for none.
	Goal   int
	Ticks  []chartTick
	Widths chartSize
}

// chartSize is the size of a chart.
type chartSize struct{ Width, Height, Left, Base int }

// chartBar is a bar. The failed part is at its bottom.
type chartBar struct {
	X, Y, Width, Height int
	FailedHeight        int
	FailedY             int
	Title               string
}

// chartTick is a label of an axis.
type chartTick struct {
	X, Y   int
	Anchor string
	Text   string
}

func newChart(label string) *chart {
	return &chart{Label: label, Widths: chartSize{chartWidth, chartHeight, chartLeft, chartHeight - chartBottom}}
}

// height returns the y coordinate of a value on a scale up to most.
func height(value, most float64) int {
	base := chartHeight - chartBottom
	if most <= 0 {
		return base
	}
	return base - int(value/most*float64(base-chartTop))
}

// scale labels the y axis with zero and the largest value.
func (c *chart) scale(most int) {
	c.Ticks = append(c.Ticks,
		chartTick{chartLeft - 6, height(float64(most), float64(most)) + 4, "end", fmt.Sprint(most)},
		chartTick{chartLeft - 6, chartHeight - chartBottom, "end", "0"},
	)
}

// span labels the x axis with its ends.
func (c *chart) span(from, to string) {
	c.Ticks = append(c.Ticks,
		chartTick{chartLeft, chartHeight - 4, "start", from},
		chartTick{chartWidth, chartHeight - 4, "end", to},
	)
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
	c := newChart(label)
	step := (chartWidth - chartLeft) / len(parts)
	for i, p := range parts {
		y := height(float64(p.Deployments+p.NeverReady), float64(most))
		failed := height(float64(p.Failed), float64(most))
		c.Bars = append(c.Bars, chartBar{
			X: chartLeft + i*step + 2, Y: y, Width: max(1, step-4), Height: chartHeight - chartBottom - y, FailedY: failed, FailedHeight: chartHeight - chartBottom - failed,
			Title: fmt.Sprintf("%s: %d deployed, %d never ready, %d failed", p.From.Format("2 January"), p.Deployments, p.NeverReady, p.Failed),
		})
	}
	c.scale(most)
	c.span(parts[0].From.Format("2 Jan"), parts[len(parts)-1].To.Format("2 Jan"))
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
		return chartLeft + int(min(1, max(0, part))*float64(chartWidth-chartLeft))
	}
	c := newChart(label)
	var path strings.Builder
	fmt.Fprintf(&path, "M%d %d", chartLeft, height(0, most))
	for i, t := range arrived {
		if next := i + 1; next < len(arrived) && x(arrived[next]) == x(t) {
			continue // they would be drawn over each other
		}
		fmt.Fprintf(&path, "H%dV%d", x(t), height(float64(i+1), most))
	}
	fmt.Fprintf(&path, "H%d", chartWidth)
	c.Line = path.String()
	c.Area = fmt.Sprintf("%sV%dH%dZ", c.Line, height(0, most), chartLeft)
	c.Goal = height(float64(expected), most)
	c.scale(max(expected, len(arrived)))
	c.span(from.Format("2 Jan 15:04"), to.Format("2 Jan 15:04"))
	return c
}
