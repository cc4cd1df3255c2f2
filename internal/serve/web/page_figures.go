package web

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// figuresPage shows delivery metrics.
type figuresPage struct {
	query.Figures
	Environment  string
	Days         string
	ByTeam       bool
	Environments []string
	Deployments  *chart
	Parts        []query.Part
}

// figuresDays are the periods to choose from.
var figuresDays = []string{"7", "30", "90"}

// maxParts limits the bars of the chart.
const maxParts = 15

func (s *site) figures(q *pageRequest) (*pageResult, error) {
	asked, err := oneOf(q, "days", figuresDays...)
	if err != nil {
		return nil, err
	}
	view := figuresPage{Environment: q.text("environment"), Days: cmp.Or(asked, "30"), ByTeam: q.text("byTeam") != ""}
	days, _ := strconv.Atoi(view.Days) // it is one of figuresDays
	figures := query.FiguresQuery{Environment: view.Environment, ByTeam: view.ByTeam, To: q.now, From: q.now.AddDate(0, 0, -days)}
	if view.Figures, view.Parts, err = q.observer.Course(q.Context(), figures, min(days, maxParts)); err != nil {
		return nil, err
	}
	if view.Environments, err = s.environmentNames(q); err != nil {
		return nil, err
	}
	if view.Figures.Total.Deployments == 0 && view.Environment != "" && !slices.Contains(view.Environments, view.Environment) {
		return nil, query.Unknown("environment", view.Environment, view.Environments)
	}
	view.Deployments = barChart("Deployments over time", view.Parts)
	return &pageResult{title: "Insights", value: view.Figures, view: view, concerns: []string{operations("environments/")}}, nil
}
