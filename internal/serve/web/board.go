package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// board shows what each environment of a control plane has: a row for the platform and for each application, a column for each
// environment, and in each cell a version, how far it is, and why it stops.
type board struct {
	// ControlPlane is empty if only the ledger knows the environments.
	ControlPlane string
	Columns      []boardColumn
	// Rows are the rows that fail, wait or move, the most urgent first, after that of the platform.
	Rows []boardRow
	// Quiet are the rows in which nothing happens. They are folded.
	Quiet []quietRow
	// Failed, Moving and Total count rows.
	Failed, Moving, Total int
}

// boardColumn is an environment.
type boardColumn struct {
	// ID is its anchor.
	ID, Name, Address string
	Clusters          int
}

// boardRow is the platform or an application.
type boardRow struct {
	Name, Address string
	// About is its workspace or repository.
	About string
	Cells []boardCell
	// urgency sorts rows: the place of the most urgent tone of a cell in urgencies.
	urgency int
}

// boardCell is what an environment has of a subject.
type boardCell struct {
	// Environment is the name of the column. A cell without State is empty: the subject is not promoted there.
	Environment string
	State       any
	// Tone is the worst of the state and of the clusters.
	Tone string
	// Version names what the environment has; empty before the first commit. Commit is its commit, and Address the page about it.
	Version, Commit, Address string
	// More is the page with all details.
	More  string
	Gate  *gateView
	Rings []ringView
	// Why says in a few words why it is not done, and Reason says it in full.
	Why, Reason string
	Notes       []boardNote
	// Next is the commit that is promoted next; empty if there is none.
	Next  string
	Since time.Time
	// Do is what settles it.
	Do Link
}

// boardNote is something else about a cell, in a few words.
type boardNote struct{ Tone, Symbol, Text, Address string }

// quietRow is a row in which nothing happens.
type quietRow struct {
	Name, Address, About string
	Cells                template.HTML
}

// urgencies orders rows by the tone of their most urgent cell.
var urgencies = []string{bad, warn, move, off, good}

const (
	// maxBoardRows limits the rows that are shown in full. More that move are folded with the quiet ones.
	maxBoardRows = 40
	// fewBoardRows are so few that none is folded.
	fewBoardRows = 6
)

// boardsOf returns a board for each control plane. Environments must be sorted by it.
func (s *site) boardsOf(q *pageRequest, environments []query.Environment, applications []query.Application, waiting settlements) []board {
	var boards []board
	address := environmentAddresses(environments)
	for from, i := 0, 0; i < len(environments); i++ {
		if i+1 < len(environments) && environments[i+1].ControlPlane == environments[i].ControlPlane {
			continue
		}
		group := environments[from : i+1]
		from = i + 1
		b := board{ControlPlane: group[0].ControlPlane}
		platform := boardRow{Name: "Platform", About: repositoryName(b.ControlPlane), Address: "/promotions?moves=platform"}
		for _, e := range group {
			b.Columns = append(b.Columns, boardColumn{ID: anchorOf(e, len(boards)), Name: e.Name, Address: address(e), Clusters: e.Counts.Clusters})
			platform.Cells = append(platform.Cells, platformCell(q, &e, address(e), waiting))
		}
		rows := []boardRow{platform}
		for i := range applications {
			if applications[i].ControlPlane == b.ControlPlane {
				rows = append(rows, applicationRow(&applications[i], b.Columns, waiting))
			}
		}
		b.fill(rows)
		boards = append(boards, b)
	}
	return boards
}

// fill sorts rows, and folds those in which nothing happens. The first one stays first.
func (b *board) fill(rows []boardRow) {
	for i := range rows {
		rows[i].urgency = len(urgencies) - 1
		for _, c := range rows[i].Cells {
			if c.State != nil {
				rows[i].urgency = min(rows[i].urgency, slices.Index(urgencies, c.Tone))
			}
		}
		switch urgencies[rows[i].urgency] {
		case bad:
			b.Failed++
		case warn, move:
			b.Moving++
		}
	}
	b.Total = len(rows)
	slices.SortStableFunc(rows[1:], func(x, y boardRow) int { return cmp.Compare(x.urgency, y.urgency) })
	for i, r := range rows {
		if i == 0 || len(rows) <= fewBoardRows || i < maxBoardRows && urgencies[r.urgency] != good && urgencies[r.urgency] != off {
			b.Rows = append(b.Rows, r)
			continue
		}
		b.Quiet = append(b.Quiet, quietRow{r.Name, r.Address, r.About, quietCells(r.Cells)})
	}
}

// quietCells renders the cells of a folded row. There can be thousands, so they are not rendered with templates: texts are escaped here.
func quietCells(cells []boardCell) template.HTML {
	var out strings.Builder
	for _, c := range cells {
		if c.State == nil {
			out.WriteString("<td>")
			continue
		}
		fmt.Fprintf(&out, `<td data-env="%s"><span class="state %s"><span aria-hidden="true">%s</span>`, template.HTMLEscapeString(line(c.Environment)), c.Tone, symbol(c.State))
		fmt.Fprintf(&out, `<span class="hidden">%s</span></span> %s`, template.HTMLEscapeString(label(c.State)), template.HTMLEscapeString(truncate(line(cmp.Or(c.Version, short(c.Commit))), 24)))
		if c.Gate != nil {
			fmt.Fprintf(&out, ` <span class="muted">%s</span>`, number(c.Gate.Counts.Reached))
		}
	}
	return template.HTML(out.String()) //nolint:gosec // constants and escaped texts
}

// platformCell is what an environment has of the platform.
func platformCell(q *pageRequest, e *query.Environment, address string, waiting settlements) boardCell {
	c := boardCell{
		Environment: e.Name, State: stateOf(*e), Version: e.Title, Commit: e.Commit, More: address, Gate: gateOf(e.Gate, e.Commit, e.Phase),
		Rings: ringsOf(q, e.Name, "", e.Rings), Next: e.Candidate, Since: e.Since, Do: waiting[settled{e.ControlPlane, e.Name, ""}],
	}
	if isHash(e.Commit) && !q.observer.Scoped() {
		c.Address = "/promotions/" + e.Commit
	}
	c.explain(e.Reason)
	switch {
	case e.Error != "":
		c.Why, c.Reason = brief(e.Error), e.Error
	case e.Paused != nil:
		c.Why = "by " + e.Paused.By
		if e.Paused.Why != "" {
			c.Why += ": " + e.Paused.Why
		}
		c.Reason = c.Why
	}
	trouble := e.Trouble()
	c.note(trouble != "", troubleTone(e), trouble, address)
	problems := address + "#problems"
	c.note(e.Problems.Errors > 0, bad, count(e.Problems.Errors, "error"), problems)
	c.note(e.Problems.Warnings > 0, warn, count(e.Problems.Warnings, "warning"), problems)
	c.note(e.Held > 0, warn, fmt.Sprintf("%d held", e.Held), problems)
	if n := len(e.WithoutClusters); n > 0 && e.Counts.Clusters > 0 {
		c.note(true, off, count(n, "type")+" without clusters", address+"#types")
	}
	return c
}

// applicationRow is the row of an application.
func applicationRow(a *query.Application, columns []boardColumn, waiting settlements) boardRow {
	row := boardRow{Name: a.Name, About: a.Workspace, Address: workloadAddress(a.Name)}
	for _, column := range columns {
		i := slices.IndexFunc(a.Environments, func(e query.ApplicationEnvironment) bool { return e.Environment == column.Name })
		if i < 0 {
			row.Cells = append(row.Cells, boardCell{Environment: column.Name})
			continue
		}
		row.Cells = append(row.Cells, applicationCell(a, &a.Environments[i], row.Address, waiting))
	}
	return row
}

func applicationCell(a *query.Application, e *query.ApplicationEnvironment, address string, waiting settlements) boardCell {
	c := boardCell{
		Environment: e.Environment, State: deliveryState(*e), Since: e.Since, More: address,
		Do: waiting[settled{a.ControlPlane, e.Environment, a.Name}],
	}
	if e.Build != nil {
		c.Version, c.Commit = e.Build.Version, e.Build.Commit
		if c.Version == "" {
			c.Version = e.Title
		}
		if isHash(c.Commit) {
			c.Address = "/promotions/" + c.Commit + "?subject=" + url.QueryEscape(a.Subject)
		}
	}
	c.Gate = gateOf(e.Gate, c.Commit, e.Phase)
	if e.Candidate != nil {
		c.Next = e.Candidate.Name()
	}
	c.explain(e.Reason)
	if e.Error != "" {
		c.Why, c.Reason = brief(e.Error), e.Error
	}
	c.note(e.Problems.Errors > 0, bad, count(e.Problems.Errors, "error"), address)
	c.note(e.Held > 0, warn, fmt.Sprintf("%d held", e.Held), address)
	return c
}

// explain sets the tone, and why the cell is not done.
func (c *boardCell) explain(reason string) {
	c.Tone = tone(c.State)
	if c.Gate == nil {
		c.Why, c.Reason = brief(reason), reason
		if c.Tone == good || c.Tone == off {
			c.Why = ""
		}
		return
	}
	if counts := c.Gate.Counts; counts.Failed > 0 {
		c.Tone = bad
	} else if counts.Offline+counts.Missing > 0 && c.Tone == good {
		c.Tone = off
	}
	if len(c.Gate.Causes) > 0 && c.Gate.Causes[0].State == comply.Broken && c.Gate.Published == "" {
		c.Reason = c.Gate.Causes[0].Reason
		c.Why = brief(c.Reason)
		return
	}
	if c.Tone != good {
		c.Why, c.Reason = brief(reason), reason
	}
}

func (c *boardCell) note(holds bool, noteTone, text, address string) {
	if !holds {
		return
	}
	c.Notes = append(c.Notes, boardNote{noteTone, toneSymbols[noteTone], text, address})
	if slices.Index(urgencies, noteTone) < slices.Index(urgencies, c.Tone) {
		c.Tone = noteTone
	}
}

// settled is a cell of the board: an environment, of the platform if application is empty.
type settled struct{ controlPlane, environment, application string }

// settlements has what a user can do about a cell.
type settlements map[settled]Link

// settlementsOf returns the first action for each cell among what needs a user.
func settlementsOf(needs *needsView) settlements {
	all := settlements{}
	if needs == nil {
		return all
	}
	for _, n := range needs.Rows {
		switch n.Action {
		case query.ActMerge, query.ActAllow, query.ActReview, query.ActApprove, query.ActResume:
		default:
			continue
		}
		if n.Do.Address == "" {
			continue
		}
		do := n.Do
		if n.PullRequest != nil && n.PullRequest.Number > 0 && n.Action == query.ActMerge {
			do.Name = fmt.Sprintf("Merge #%d", n.PullRequest.Number)
		}
		for _, environment := range n.Environments {
			at := settled{n.ControlPlane, environment, n.Application}
			if _, ok := all[at]; !ok {
				all[at] = do
			}
		}
	}
	return all
}

// repositoryName returns the last two elements of a repository's address.
func repositoryName(address string) string {
	parts := strings.Split(strings.TrimSuffix(strings.TrimRight(address, "/"), ".git"), "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}
