package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// inputs are the parts of a case that are not queries.
var inputs = []string{"now", "facts", "promotion.json", "targets", "plan.json"}

// TestAnswers runs the cases in testdata. A case has facts, one per line, and optionally the state of a fleet. Each
// other part is named after a query, with its fields, and contains the answer as JSON.
func TestAnswers(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		w := newWorld(t)
		for line := range strings.Lines(c.Text("facts")) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				w.fact(line)
			}
		}
		now := clock(t, strings.TrimSpace(c.Text("now")))
		o := &query.Observer{
			Ledger: w.Ledger, Fleet: fleetOf(t, c.Text("promotion.json"), c.Text("targets"), c.Text("plan.json"), now),
			Now: func() time.Time { return now },
		}
		for _, f := range c.Files {
			if !slices.Contains(inputs, f.Name) {
				c.Golden(t, f.Name, answer(t, o, f.Name))
			}
		}
	})
}

// answer runs a query and returns the answer as text.
func answer(t *testing.T, o *query.Observer, question string) string {
	t.Helper()
	words := strings.Fields(question)
	ask := map[string]func(*testing.T, []string) (any, error){
		"environments": asks(o.Environments), "environment": asks(o.Environment), "workloads": asks(o.Workloads), "targets": asks(o.Targets),
		"assignments": asks(o.Assignments), "matrix": asks(o.Matrix), "clusters": asks(o.Clusters), "cluster": asks(o.Cluster),
		"reconcilers": asks(o.Reconcilers), "versions": asks(o.Versions), "discrepancies": asks(o.Discrepancies), "compare": asks(o.Compare),
		"history": asks(o.History), "promotions": asks(o.Promotions), "promotion": asks(o.Promotion), "figures": asks(o.Figures),
		"progress": asks(o.Progress), "map": asks(o.Map),
		"course": asks(func(ctx context.Context, q struct {
			From, To time.Time
			Parts    int
		},
		) ([]query.Part, error) {
			_, parts, err := o.Course(ctx, query.FiguresQuery{From: q.From, To: q.To}, q.Parts)
			return parts, err
		}),
		"workload": asks(func(ctx context.Context, q struct{ Name string }) (query.WorkloadDetail, error) {
			return o.Workload(ctx, q.Name)
		}),
	}[words[0]]
	if ask == nil {
		t.Fatalf("%q is no question", words[0])
	}
	a, err := ask(t, words[1:])
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(a); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// asks adapts a method of the observer: its query is filled in from fields, name=value.
func asks[Q, A any](method func(context.Context, Q) (A, error)) func(*testing.T, []string) (any, error) {
	return func(t *testing.T, fields []string) (any, error) {
		var q Q
		for _, f := range fields {
			name, value, _ := strings.Cut(f, "=")
			set(t, reflect.ValueOf(&q).Elem().FieldByName(name), value)
		}
		return method(t.Context(), q)
	}
}

func set(t *testing.T, field reflect.Value, value string) {
	t.Helper()
	if !field.IsValid() {
		t.Fatalf("no field for %q", value)
	}
	switch field.Interface().(type) {
	case time.Time:
		field.Set(reflect.ValueOf(clock(t, value)))
	case bool:
		field.SetBool(value == "true")
	case int:
		n, _ := strconv.Atoi(value)
		field.SetInt(int64(n))
	case map[string]string:
		name, v, _ := strings.Cut(value, ":")
		field.Set(reflect.ValueOf(map[string]string{name: v}))
	case []query.EventKind:
		field.Set(reflect.ValueOf([]query.EventKind{query.EventKind(value)}))
	default:
		field.SetString(value)
	}
}
