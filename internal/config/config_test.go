package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite the golden output of the cases")

// TestCases runs the rules under testdata: a fleet, its configuration and schemas, and what comes of it.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runCase(t, file) })
	}
}

func runCase(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{}
	want := -1
	for i, f := range archive.Files {
		if f.Name == "want" {
			want = i
			continue
		}
		inputs[f.Name] = string(f.Data)
	}
	got := report(snapshotOf(t, inputs))
	if *update {
		if want < 0 {
			archive.Files = append(archive.Files, txtar.File{Name: "want"})
			want = len(archive.Files) - 1
		}
		archive.Files[want].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want < 0 {
		t.Fatalf("no golden output; run with -update")
	}
	if diff := cmp.Diff(string(archive.Files[want].Data), got); diff != "" {
		t.Errorf("differs from want (-want +got):\n%s", diff)
	}
}

// report says everything about every assignment.
func report(s *fleet.Snapshot) string {
	var out strings.Builder
	c, problems := NewComposer(s)
	reportProblems(&out, problems)
	for _, ct := range s.ClusterTypes {
		stack := c.Stack(ct)
		for _, t := range s.Targets {
			fmt.Fprintf(&out, "== %s on %s\n", t.Name, ct.Name)
			r := stack.Compose(t, evalFor(ct, t))
			reportResult(&out, r)
			reportProblems(&out, c.Precedence(stack, t))
		}
	}
	return out.String()
}

func reportResult(out *strings.Builder, r Result) {
	fmt.Fprintf(out, "layers %v\n", r.Layers)
	if len(r.Schemas) > 0 {
		fmt.Fprintf(out, "schemas %v\n", r.Schemas)
	}
	data, err := yaml.Marshal(r.Data)
	if err != nil {
		data = []byte(err.Error())
	}
	out.WriteString(string(data))
	for _, k := range r.Keys {
		fmt.Fprintf(out, "# %s = %q from %s (%d)", k.Path, k.Value, k.From.Position, k.From.Labels)
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
