package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// baseName is the file with the control plane that all cases start from.
const baseName = "base"

// TestRules runs the cases in testdata, one per rule. The files of a case:
//
//	before/...      changes to the base; the result is published
//	published/...   files added to the GitOps branch; "(deleted)" as content deletes one
//	now/...         changes to the earlier control plane
//	between         if present, compares the two control planes without a GitOps branch
//	golden, golden.md, golden.json   the plan as text for this test, Markdown and JSON
//	golden.diff, golden-diff.md      its differences, alone and within the Markdown
func TestRules(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		if c.Name != baseName {
			compareGolden(t, c, newCase(t, c.Archive).plan(t))
		}
	})
}

func compareGolden(t *testing.T, c casetest.Case, p *plan.Plan) {
	t.Helper()
	for _, f := range c.Files {
		switch f.Name {
		case "golden":
			c.Golden(t, f.Name, format(p))
		case "golden.md":
			c.Golden(t, f.Name, p.Markdown(plan.MarkdownOptions{}))
		case "golden-diff.md":
			c.Golden(t, f.Name, p.Markdown(plan.MarkdownOptions{Diffs: true}))
		case "golden.json":
			text, err := json.MarshalIndent(p, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			c.Golden(t, f.Name, string(text)+"\n")
		case "golden.diff":
			c.Golden(t, f.Name, diffs(t, p))
		}
	}
}

// testCase is two states of a control plane, and a GitOps branch.
type testCase struct {
	before, now, branch map[string]string
	between             bool
}

func newCase(t *testing.T, ar *txtar.Archive) testCase {
	base := baseFiles(t)
	c := testCase{before: base, now: maps.Clone(base), branch: map[string]string{}}
	changes, published := map[string]string{}, map[string]string{}
	for _, f := range ar.Files {
		if path, ok := strings.CutPrefix(f.Name, "before/"); ok {
			lay(c.before, path, string(f.Data))
			lay(c.now, path, string(f.Data))
		} else if path, ok := strings.CutPrefix(f.Name, "now/"); ok {
			changes[path] = string(f.Data)
		} else if path, ok := strings.CutPrefix(f.Name, "published/"); ok {
			published[path] = string(f.Data)
		}
		c.between = c.between || f.Name == "between"
	}
	for path, content := range changes {
		lay(c.now, path, content)
	}
	if !c.between {
		c.branch = apply(bundle.Build(snapshot(c.before), nil, nil), nil)
		for path, content := range published {
			lay(c.branch, path, content)
		}
	}
	return c
}

func baseFiles(t testing.TB) map[string]string {
	t.Helper()
	ar, err := txtar.ParseFile("testdata/" + baseName + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range ar.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

func lay(files map[string]string, path, content string) {
	if strings.TrimSpace(content) == "(deleted)" {
		delete(files, path)
		return
	}
	files[path] = content
}

func (c testCase) plan(t testing.TB) *plan.Plan {
	t.Helper()
	if c.between {
		was := bundle.Build(snapshot(c.before), nil, nil)
		return compare(t, plan.BundleState("before", was), bundle.Build(snapshot(c.now), nil, was))
	}
	s := snapshot(c.now)
	published := read(t, s, c.branch)
	return compare(t, plan.PublishedState("gitops dev", published), bundle.Build(s, published, nil))
}

func compare(t testing.TB, before plan.State, after *bundle.Bundle) *plan.Plan {
	t.Helper()
	p, err := plan.Compare(before, "control plane dev", after)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func snapshot(files map[string]string) *fleet.Snapshot {
	return fleet.Assemble(fleettest.Inputs("dev", files))
}

// read returns a branch as read from a repository; nil if it has no files.
func read(t testing.TB, s *fleet.Snapshot, files map[string]string) *bundle.Published {
	t.Helper()
	if len(files) == 0 {
		return nil
	}
	var all []bundle.File
	for path, content := range files {
		all = append(all, bundle.NewFile(path, []byte(content)))
	}
	branch := bundle.Branch{Top: bundle.TreeOf(all), Read: func(path string) ([]byte, error) { return []byte(files[path]), nil }}
	var clusterTypes []string
	for _, ct := range s.ClusterTypes {
		clusterTypes = append(clusterTypes, ct.Name)
	}
	p, err := bundle.ReadPublished(branch, s.Environment, clusterTypes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// apply returns the branch after the changes of a bundle.
func apply(b *bundle.Bundle, branch map[string]string) map[string]string {
	after := map[string]string{}
	maps.Copy(after, branch)
	for _, c := range b.Changes() {
		if c.Content == nil {
			delete(after, c.Path)
			continue
		}
		after[c.Path] = string(c.Content)
	}
	return after
}

func diffs(t *testing.T, p *plan.Plan) string {
	var b strings.Builder
	for i := range p.Assignments {
		diff, err := p.Diff(&p.Assignments[i])
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(diff)
	}
	return b.String()
}

// format formats a plan.
func format(p *plan.Plan) string {
	var w bytes.Buffer
	fmt.Fprintf(&w, "%s\nempty %t, only records %t\n", p.Title(), p.Empty(), p.OnlyRecords())
	c := p.Counts
	fmt.Fprintf(&w, "%d added, %d changed, %d removed, %d held, %d unchanged; removals %d of %d\n",
		c.Added, c.Changed, c.Removed, c.Held, c.Unchanged, p.Budget.Removals, p.Budget.Allowed)
	if p.Promotion != nil {
		fmt.Fprintf(&w, "promotion %q -> %q\n", p.Promotion.From, p.Promotion.To)
	}
	for _, ct := range p.ClusterTypes {
		fmt.Fprintf(&w, "cluster type %s %s\n", ct.Name, ct.Op)
	}
	for i := range p.Assignments {
		formatChange(&w, &p.Assignments[i])
	}
	for _, d := range p.Drift {
		fmt.Fprintf(&w, "drift %s deleted=%t\n", d.Path, d.Deleted)
	}
	for _, r := range p.Refusals {
		fmt.Fprintf(&w, "refused %s: %s\n", r.Reason, r.Message)
	}
	return w.String()
}

func formatChange(w *bytes.Buffer, c *plan.Change) {
	fmt.Fprintf(w, "%s %s %s by %s\n", c.Op, c.ClusterType, c.Title, strings.Join(c.Policies, ", "))
	for _, f := range c.Files {
		if c.Op == plan.Changed {
			fmt.Fprintf(w, "  %s %s\n", f.Op, f.Path)
		}
	}
	for _, k := range c.Config {
		fmt.Fprintf(w, "  %s: %s -> %s  (%s over %s)\n", k.Key, value(k.Old), value(k.New), k.From, k.Over)
	}
	for _, r := range c.Granted {
		fmt.Fprintf(w, "  grants %s\n", r)
	}
	for _, r := range c.Withdrawn {
		fmt.Fprintf(w, "  withdraws %s\n", r)
	}
	for _, s := range c.GrantedSecrets {
		fmt.Fprintf(w, "  grants %s\n", s)
	}
	for _, s := range c.WithdrawnSecrets {
		fmt.Fprintf(w, "  withdraws %s\n", s)
	}
	for _, o := range c.HandedOver {
		fmt.Fprintf(w, "  %s is handed over\n", o)
	}
	for _, o := range c.Retired {
		fmt.Fprintf(w, "  %s is retired\n", o)
	}
	for _, r := range c.MayStay {
		fmt.Fprintf(w, "  has %s\n", r)
	}
	for _, name := range c.Gone {
		fmt.Fprintf(w, "  %s is gone\n", name)
	}
	if c.Reason != nil {
		fmt.Fprintf(w, "  %s\n", c.Reason.Message)
	}
}

func value(text *string) string {
	if text == nil {
		return "(none)"
	}
	return fmt.Sprintf("%q", *text)
}
