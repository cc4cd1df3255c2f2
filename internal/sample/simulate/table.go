package simulate

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// table is text in columns, as kubectl prints it.
type table struct {
	header []string
	rows   [][]string
}

// add adds a row. Text from Git is printed without control characters.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, cell)
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w io.Writer) error {
	rows := append([][]string{t.header}, t.rows...)
	widths := make([]int, len(t.header))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s   ", widths[i], cell)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// columns are the columns of a kind besides name and age.
type columns struct {
	names []string
	cells func(o fields) []string
}

// columnsOf returns the columns that kubectl shows, as far as the simulation can fill them.
var columnsOf = map[string]columns{
	"Namespace":     {[]string{"STATUS"}, func(o fields) []string { return []string{o.text("status", "phase")} }},
	"ConfigMap":     {[]string{"DATA"}, func(o fields) []string { return []string{count(o, "data", "binaryData")} }},
	"Secret":        {[]string{"TYPE", "DATA"}, func(o fields) []string { return []string{o.text("type"), count(o, "data", "stringData")} }},
	"Service":       {[]string{"TYPE", "PORT(S)"}, serviceCells},
	"Deployment":    {[]string{"READY", "UP-TO-DATE", "AVAILABLE"}, deploymentCells},
	"StatefulSet":   {[]string{"READY"}, func(o fields) []string { return deploymentCells(o)[:1] }},
	"GitRepository": {[]string{"URL", "READY", "STATUS"}, func(o fields) []string { return append([]string{o.text("spec", "url")}, readyCells(o)...) }},
	"OCIRepository": {[]string{"URL", "READY", "STATUS"}, func(o fields) []string { return append([]string{o.text("spec", "url")}, readyCells(o)...) }},
	"Kustomization": {[]string{"READY", "STATUS"}, readyCells},
	"HelmRelease":   {[]string{"READY", "STATUS"}, readyCells},
	"Application": {[]string{"SYNC STATUS", "HEALTH STATUS"}, func(o fields) []string {
		return []string{o.text("status", "sync", "status"), o.text("status", "health", "status")}
	}},
}

func count(o fields, names ...string) string {
	n := 0
	for _, name := range names {
		n += len(o.fieldsAt(name))
	}
	return fmt.Sprint(n)
}

func serviceCells(o fields) []string {
	kind := o.text("spec", "type")
	if kind == "" {
		kind = "ClusterIP"
	}
	var ports []string
	for _, p := range o.list("spec", "ports") {
		protocol := p.text("protocol")
		if protocol == "" {
			protocol = "TCP"
		}
		ports = append(ports, fmt.Sprintf("%v/%s", p["port"], protocol))
	}
	return []string{kind, strings.Join(ports, ",")}
}

func deploymentCells(o fields) []string {
	number := func(name string) int64 { n, _ := o.at("status", name).(int64); return n }
	return []string{
		fmt.Sprintf("%d/%d", number("readyReplicas"), number("replicas")),
		fmt.Sprint(number("updatedReplicas")), fmt.Sprint(number("availableReplicas")),
	}
}

func readyCells(o fields) []string {
	for _, c := range o.list("status", "conditions") {
		if c.text("type") == "Ready" {
			return []string{c.text("status"), c.text("message")}
		}
	}
	return []string{"", ""}
}

// writeTables writes a table for each kind.
func writeTables(w io.Writer, found []*entry, q selection, now time.Time) error {
	if len(found) == 0 {
		where := fmt.Sprintf(" in %s namespace", q.namespace)
		if q.all {
			where = ""
		}
		_, err := fmt.Fprintf(w, "No resources found%s.\n", where)
		return err
	}
	for i := 0; i < len(found); {
		first := i
		for i < len(found) && found[i].kind == found[first].kind && found[i].group == found[first].group {
			i++
		}
		if first > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := writeTable(w, found[first:i], q, now); err != nil {
			return err
		}
	}
	return nil
}

func writeTable(w io.Writer, found []*entry, q selection, now time.Time) error {
	shown := columnsOf[found[0].kind]
	withNamespace := q.all && found[0].namespace != ""
	var t table
	if withNamespace {
		t.header = append(t.header, "NAMESPACE")
	}
	t.header = append(append(append(t.header, "NAME"), shown.names...), "AGE")
	for _, e := range found {
		var row []string
		if withNamespace {
			row = append(row, e.namespace)
		}
		row = append(row, e.name)
		if shown.cells != nil {
			row = append(row, shown.cells(e.compose(now).Object)...)
		}
		t.add(append(row, duration.HumanDuration(now.Sub(e.created)))...)
	}
	return t.write(w)
}
