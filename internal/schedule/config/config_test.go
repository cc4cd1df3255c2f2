package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// TestCases runs the rules under testdata: a fleet, its configuration and schemas, and what comes of it.
func TestCases(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		inputs := map[string]string{}
		for _, f := range c.Files {
			if f.Name != "want" {
				inputs[f.Name] = string(f.Data)
			}
		}
		c.Golden(t, "want", report(snapshotOf(t, inputs)))
	})
}

// report says everything about every assignment.
func report(s *fleet.Snapshot) string {
	var out strings.Builder
	c, problems := NewComposer(s)
	reportProblems(&out, problems)
	reportProblems(&out, c.Quoting())
	places := slices.Clone(s.ClusterTypes)
	for _, cluster := range s.Clusters {
		ct := s.ClusterType(cluster.Type)
		if own := ct.Of(cluster); c.Stack(own).Same(c.Stack(ct).Candidates) {
			fmt.Fprintf(&out, "== cluster %s shares the values of %s\n", cluster.Name, ct.Name)
		} else {
			places = append(places, own)
		}
	}
	for _, ct := range places {
		stack := c.Stack(ct)
		for _, t := range s.Targets {
			fmt.Fprintf(&out, "== %s on %s\n", t.Name, ct.Folder())
			r := stack.Compose(t, evalFor(ct, t))
			reportResult(&out, r)
			reportProblems(&out, c.Precedence(stack, t))
		}
	}
	return out.String()
}

func reportResult(out *strings.Builder, r Result) {
	fmt.Fprintf(out, "layers %v\n", r.Layers.Names())
	if len(r.Schemas) > 0 {
		fmt.Fprintf(out, "schemas %v\n", r.Schemas)
	}
	data, err := yaml.Marshal(r.Data)
	if err != nil {
		data = []byte(err.Error())
	}
	out.WriteString(string(data))
	for _, k := range r.Keys() {
		fmt.Fprintf(out, "# %s = %q from %s (%d)", k.Path, k.Value, k.From.Position, k.From.Labels)
		if k.Expression != "" {
			fmt.Fprintf(out, ", computed by %s from %v", k.Expression, k.Reads)
		}
		for _, o := range k.Over {
			fmt.Fprintf(out, ", over %q at %s (%d)", o.Value, o.Position, o.Labels)
		}
		out.WriteString("\n")
	}
	reportProblems(out, r.Problems)
	if r.Hold {
		out.WriteString("held\n")
	}
}

func reportProblems(out *strings.Builder, problems []fleet.Problem) {
	for _, p := range problems {
		fmt.Fprintf(out, "! %s %s %s %s: %s\n  %s\n", p.Severity, p.Kind, p.Object, p.Position, p.Message, p.Hint)
	}
}
