package model

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// traceCase is the setup of a case in testdata.
type traceCase struct {
	Configuration string
	// Fault is one of faults, and Violates what it leads to.
	Fault, Violates string
}

// TestCases finds the faults of testdata: each is made, one at a time, and leads to a violation after the events of the case, which are the fewest
// that do. Without the fault, the same events violate nothing; those that cannot happen then are left out.
func TestCases(t *testing.T) {
	casetest.Run(t, "testdata/traces/*.txtar", func(t *testing.T, c casetest.Case) {
		var is traceCase
		if err := yaml.UnmarshalStrict([]byte(c.Text("case")), &is); err != nil {
			t.Fatal(err)
		}
		m := newModel(configurationOf(t, is.Configuration))
		if m.seed = faults[is.Fault]; m.seed == nil {
			t.Fatalf("there is no fault %q", is.Fault)
		}
		x := m.search(limit, func(err error) bool { return strings.Contains(err.Error(), is.Violates) }, nil)
		if x.violation == nil {
			t.Fatalf("the fault is not found: %s", x)
		}
		c.Golden(t, "events", strings.Join(x.trace, "\n")+"\n")
		c.Golden(t, "with the fault", x.violation.Error()+"\n")
		sound := newModel(m.configuration)
		c.Golden(t, "without it", sound.replay(t, x.trace))
	})
}

// replay returns the states of all places after events, as far as they can happen.
func (m *model) replay(t *testing.T, trace []string) string {
	w, atRest := m.begin(), newRest(m)
	var out strings.Builder
	for _, line := range trace {
		e, ok := m.event(&w, line)
		if !ok {
			text, _, _ := strings.Cut(line, "#")
			fmt.Fprintf(&out, "not: %s\n", strings.TrimSpace(text))
			continue
		}
		var violation error
		if w, violation = m.apply(w, e); violation == nil {
			violation = m.judge(&w, atRest)
		}
		if violation != nil {
			t.Errorf("%s: %v", line, violation)
		}
	}
	v := w.visible()
	for _, d := range m.decisions(&v, circumstances{}) {
		fmt.Fprintf(&out, "%s, %s: %s\n", d.Environment, d.State, readable(d.Reason))
	}
	return out.String()
}

// event finds the event of a line among those that can happen. A round carries out all actions if the line does not say how many, or if
// there are fewer.
func (m *model) event(w *world, line string) (event, bool) {
	text, _, _ := strings.Cut(line, "#")
	text = strings.TrimSpace(text)
	var found event
	ok := false
	for _, e := range m.enabled(w) {
		if m.text(e) == text {
			return e, true
		}
		if strings.HasPrefix(text, "round") && e.kind == rounds {
			found, ok = e, true
		}
	}
	return found, ok
}

// readable replaces the hashes of commits and revisions by names.
func readable(text string) string {
	for c := uint8(1); c <= maxCommits; c++ {
		text = strings.ReplaceAll(text, fleet.ShortCommit(commitName(c)), commitText(c))
	}
	for e := range maxPlaces {
		for r := uint8(1); r <= maxRevisions; r++ {
			text = strings.ReplaceAll(text, fleet.ShortCommit(revisionName(e, r)), fmt.Sprintf("revision %d", r))
		}
	}
	return text
}

func configurationOf(t *testing.T, name string) configuration {
	t.Helper()
	for _, c := range configurations {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("there is no configuration %q", name)
	return configuration{}
}
