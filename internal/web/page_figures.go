package web

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/observing"
)

// figuresPage is how well the fleet delivers.
type figuresPage struct {
	observing.Figures
	Environment  string
	Days         string
	ByTeam       bool
	Environments []string
	Deployments  *chart
	Slices       []slice
}

// periods are how many days can be looked at.
var periods = []string{"7", "30", "90"}

// maxSlices is how many bars a period has at most.
const maxSlices = 15

func (s *site) figures(q *question) (*answer, error) {
	view := figuresPage{Environment: q.text("environment"), Days: q.text("days"), ByTeam: q.text("byTeam") != ""}
	if !slices.Contains(periods, view.Days) {
		view.Days = "30"
	}
	days, _ := strconv.Atoi(view.Days) // it is one of periods
	query := observing.FiguresQuery{Environment: view.Environment, ByTeam: view.ByTeam, To: q.now, From: q.now.AddDate(0, 0, -days)}
	var err error
	if view.Figures, err = s.Observer.Figures(q.Context(), query); err != nil {
		return nil, err
	}
	if view.Environments, err = s.environmentNames(q); err != nil {
		return nil, err
	}
	if view.Total.Deployments > 0 {
		if view.Slices, err = s.slices(q, query, min(days, maxSlices)); err != nil {
			return nil, err
		}
	}
	view.Deployments = barChart("Deployments over time", view.Slices)
	return &answer{title: "Figures", value: view.Figures, view: view, concerns: []string{operations("environments/")}}, nil
}

// slices are the deployments of a period, part by part.
func (s *site) slices(q *question, query observing.FiguresQuery, parts int) ([]slice, error) {
	step := query.To.Sub(query.From) / time.Duration(parts)
	var all []slice
	for i := range parts {
		part := query
		part.From = query.From.Add(time.Duration(i) * step)
		part.To = part.From.Add(step)
		f, err := s.Observer.Figures(q.Context(), part)
		if err != nil {
			return nil, err
		}
		failed := int(math.Round(f.Total.ChangeFailureRate * float64(f.Total.Deployments)))
		all = append(all, slice{part.From, part.To, f.Total.Deployments, failed})
	}
	return all, nil
}
