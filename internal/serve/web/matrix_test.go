package web

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// matrixOf returns a table with a cell for every target and cluster type.
func matrixOf(targets, types int) *query.Matrix {
	m := &query.Matrix{Environment: "prod"}
	for c := range types {
		m.Columns = append(m.Columns, query.Column{ClusterType: fmt.Sprintf("type-%03d", c), Clusters: 100})
	}
	for r := range targets {
		row := query.Row{Target: fmt.Sprintf("workload-%03d-functional-test", r), Workload: fmt.Sprintf("workload-%03d", r), Wanted: "1.2.3"}
		for c := range types {
			states := query.StateCounts{Expected: 100, Ready: 100}
			if (r+c)%17 == 0 {
				states.Ready, states.Failed = 97, 3
			}
			row.Cells = append(row.Cells, query.Cell{ClusterType: m.Columns[c].ClusterType, States: states})
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func pageOf(m *query.Matrix, filter matrixView) environmentPage {
	view := environmentPage{Matrix: filter}
	view.Matrix.All, view.Matrix.States = len(m.Rows), cellStates
	view.Matrix.fill("prod", "https://git.example.com/acme/fleet", m)
	return view
}

// BenchmarkMatrix renders the page of an environment with 20,000 cells, and measures the size of the response.
func BenchmarkMatrix(b *testing.B) {
	m := matrixOf(200, 100)
	all := parse(&Pages{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	size := 0
	for b.Loop() {
		main, err := all.main("environment", body{Page: pageOf(m, matrixView{})})
		if err != nil {
			b.Fatal(err)
		}
		size = len(zipped(main))
	}
	b.ReportMetric(float64(size), "bytes-sent")
}

func TestMatrixFilters(t *testing.T) {
	m := matrixOf(40, 3)
	m.Rows[7].Workspace, m.Rows[7].Cells[1].Held = "team-a", true
	for _, tc := range []struct {
		name   string
		filter matrixView
		want   int
	}{
		{"nothing", matrixView{}, 40},
		{"a part of a name", matrixView{Find: "Workload-00"}, 10},
		{"two words", matrixView{Find: "007 func"}, 1},
		{"a workspace", matrixView{Workspace: "team-a"}, 1},
		{"a state", matrixView{State: "held"}, 1},
		{"a state that is nowhere", matrixView{State: "suspended"}, 0},
	} {
		if got := pageOf(m, tc.filter).Matrix.Shown; got != tc.want {
			t.Errorf("%s: got %d targets, want %d", tc.name, got, tc.want)
		}
	}
	if parts := pageOf(m, matrixView{}).Matrix.Parts; len(parts) != 2 || len(parts[0].Rows) != rowsInPart {
		t.Errorf("got %d parts, want two that browsers lay out one by one", len(parts))
	}
}

// TestCells checks that a cell is understandable without its color.
func TestCells(t *testing.T) {
	for _, tc := range []struct {
		cell query.Cell
		want string
	}{
		{query.Cell{States: query.StateCounts{Expected: 3, Ready: 3}}, `<td class=good>✓`},
		{query.Cell{States: query.StateCounts{Expected: 3, Ready: 2, Failed: 1}}, `<td class=bad aria-label="failed 1 of 3">✕1`},
		{query.Cell{States: query.StateCounts{Expected: 100, Ready: 99, Failed: 1}}, `<td class="bad few" aria-label="failed 1 of 100">✕1`},
		{query.Cell{States: query.StateCounts{Expected: 3, Failed: 3}}, `<td class="bad all" aria-label="failed 3 of 3">✕3`},
		{query.Cell{Held: true, States: query.StateCounts{Expected: 3, Ready: 3}}, `<td class=warn aria-label="held, 3 clusters">▲`},
		{query.Cell{Pending: "removed", States: query.StateCounts{Expected: 1, Ready: 1}}, `<td class=good aria-label="ready 1 of 1, to be removed">✓<sup>−</sup>`},
		{query.Cell{Pending: "added"}, `<td class=move aria-label="added">+`},
		{query.Cell{}, `<td class=off aria-label="expected">·`},
	} {
		got, _ := cellsOf([]query.Cell{tc.cell}, map[string]int{"": 0}, false, nil)
		if string(got) != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
	if got, _ := cellsOf(nil, map[string]int{"large": 0}, false, nil); strings.TrimSpace(string(got)) != "<td>" {
		t.Errorf("not assigned: got %s", got)
	}
}
