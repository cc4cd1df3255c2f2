package web

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// figuresPage is how well the fleet delivers.
type figuresPage struct {
	query.Figures
	Environment  string
	Days         string
	ByTeam       bool
	Environments []string
	Deployments  *chart
	Parts        []query.Part
}

// periods are how many days can be looked at.
var periods = []string{"7", "30", "90"}

// maxParts is how many bars a period has at most.
const maxParts = 15

func (s *site) figures(q *question) (*answer, error) {
	asked, err := oneOf(q, "days", periods...)
	if err != nil {
		return nil, err
	}
	view := figuresPage{Environment: q.text("environment"), Days: cmp.Or(asked, "30"), ByTeam: q.text("byTeam") != ""}
	days, _ := strconv.Atoi(view.Days) // it is one of periods
	figures := query.FiguresQuery{Environment: view.Environment, ByTeam: view.ByTeam, To: q.now, From: q.now.AddDate(0, 0, -days)}
	if view.Figures, view.Parts, err = s.Observer.Course(q.Context(), figures, min(days, maxParts)); err != nil {
		return nil, err
	}
	if view.Environments, err = s.environmentNames(q); err != nil {
		return nil, err
	}
	if view.Figures.Total.Deployments == 0 && view.Environment != "" && !slices.Contains(view.Environments, view.Environment) {
		return nil, query.Unknown("environment", view.Environment, view.Environments)
	}
	view.Deployments = barChart("Deployments over time", view.Parts)
	return &answer{title: "Figures", value: view.Figures, view: view, concerns: []string{operations("environments/")}}, nil
}
