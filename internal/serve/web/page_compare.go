package web

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// comparePage is the comparison of two environments.
type comparePage struct {
	// Comparison is nil until both are chosen.
	Comparison   *query.Comparison
	A, B, AsOf   string
	Environments []string
	Same         bool
	Past         time.Time
	Now          string
}

func (s *site) compare(q *pageRequest) (*pageResult, error) {
	view := comparePage{A: q.text("a"), B: q.text("b"), AsOf: q.text("asOf"), Now: q.with("asOf", "")}
	var err error
	if view.Past, err = q.when("asOf"); err != nil {
		return nil, err
	}
	if view.Environments, err = s.environmentNames(q); err != nil {
		return nil, err
	}
	a := &pageResult{title: "Compare", value: struct{}{}}
	if view.A != "" && view.B != "" {
		c, err := s.Observer.Compare(q.Context(), query.CompareQuery{A: view.A, B: view.B, AsOf: view.Past})
		if err != nil {
			return nil, err
		}
		view.Comparison, view.Same = &c, c.SameCommit && len(c.Targets) == 0 && len(c.Assignments) == 0
		a.title, a.value, a.command = line(view.A)+" and "+line(view.B), c, s.command("compare", view.A, view.B)
		if !view.Past.IsZero() {
			a.command = s.command("compare", view.A, view.B, "--as-of", view.AsOf)
		}
		a.concerns = whenCurrent(view.Past, operations("environments/"), operations("clusters/"))
	} else if len(view.Environments) > 1 {
		view.A, view.B = view.Environments[0], view.Environments[1]
	}
	a.view = view
	return a, nil
}
