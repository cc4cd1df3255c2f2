package web

import (
	"net/url"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// commitRow is a promoted commit with its latest step in each environment.
type commitRow struct {
	Commit, Title, Workload, Address string
	At                               time.Time
	// Cells are in the order of the environments; nil where the commit was not promoted to.
	Cells []*commitCell
}

// commitCell is the latest step of a commit in an environment.
type commitCell struct {
	query.Promotion
	State any
	Why   string
}

// commitRows groups promotions by commit, in their order. The page has a column for each of the environments that it returns.
func (s *site) commitRows(q *pageRequest, promotions []query.Promotion, known []string) (rows []commitRow, environments []string) {
	type id struct{ subject, commit string }
	titles := commitTitles(q)
	at := map[id]int{}
	for _, name := range known {
		if slices.ContainsFunc(promotions, func(p query.Promotion) bool { return p.Environment == name }) {
			environments = append(environments, name)
		}
	}
	for _, p := range promotions {
		column := slices.Index(environments, p.Environment)
		if column < 0 {
			column = len(environments)
			environments = append(environments, p.Environment)
		}
		i, ok := at[id{p.Subject, p.Commit}]
		if !ok {
			i = len(rows)
			at[id{p.Subject, p.Commit}] = i
			rows = append(rows, commitRow{
				Commit: p.Commit, Title: titles[p.Commit], Workload: p.Workload, At: p.At,
				Address: "/promotions/" + p.Commit + "?subject=" + url.QueryEscape(p.Subject),
			})
		}
		cell := &commitCell{Promotion: p, State: p.Step}
		if p.Phase != "" {
			cell.State = p.Phase
		}
		if t := tone(cell.State); t != good && t != off {
			cell.Why = brief(p.Reason)
		}
		for len(rows[i].Cells) <= column {
			rows[i].Cells = append(rows[i].Cells, nil)
		}
		if rows[i].Cells[column] == nil { // the newest comes first
			rows[i].Cells[column] = cell
		}
	}
	for i := range rows {
		for len(rows[i].Cells) < len(environments) {
			rows[i].Cells = append(rows[i].Cells, nil)
		}
	}
	return rows, environments
}

// commitTitles has the first line of the message of each commit that the last rounds read.
func commitTitles(q *pageRequest) map[string]string {
	titles := map[string]string{}
	if q.observer.Fleet == nil {
		return titles
	}
	for _, plane := range q.observer.Fleet.ControlPlanes() {
		if plane.Promotion != nil {
			for _, c := range plane.Promotion.Line {
				titles[c.SHA] = c.Subject
			}
		}
		for _, a := range plane.Applications {
			for _, c := range a.Line {
				titles[c.SHA] = c.Subject
			}
		}
	}
	return titles
}
