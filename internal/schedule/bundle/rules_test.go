package bundle_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// TestRules runs the cases in testdata, one per rule. The files of a case:
//
//	before/...      an earlier control plane, in the layout of fleettest; its bundle is published
//	published/...   files added to the GitOps branch; "(deleted)" as content deletes one
//	main/..., env/..., workloads/...   changes to the earlier control plane; "(deleted)" likewise
//	golden          the changes to the branch
//	files/...       golden contents of files on the resulting branch
func TestRules(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, ar casetest.Case) {
		c := newCase(ar.Archive)
		published := c.published(t)
		got := bundle.Build(c.now.Settle(published.Owners), published, nil)
		branch := apply(c.branch, got)
		compareGolden(t, ar, got, branch)

		published = read(t, c.now, branch)
		again := bundle.Build(c.now.Settle(published.Owners), published, nil)
		if changes := again.Changes(); len(changes) > 0 {
			t.Errorf("a second run changes the branch again: %s", format(again))
		}
	})
}

func compareGolden(t *testing.T, c casetest.Case, got *bundle.Bundle, branch map[string]string) {
	t.Helper()
	c.Golden(t, "golden", format(got))
	for _, f := range c.Files {
		if path, isFile := strings.CutPrefix(f.Name, "files/"); isFile {
			content, ok := branch[path]
			if !ok {
				t.Errorf("there is no file %s", path)
			}
			c.Golden(t, f.Name, content)
		}
	}
}

// testCase is a control plane and its GitOps branch.
type testCase struct {
	now    *fleet.Snapshot
	branch map[string]string // path to content
}

func newCase(ar *txtar.Archive) testCase {
	before, now, published := map[string]string{}, map[string]string{}, map[string]string{}
	for _, f := range ar.Files {
		if path, ok := strings.CutPrefix(f.Name, "before/"); ok {
			before[path] = string(f.Data)
			now[path] = string(f.Data)
		}
	}
	for _, f := range ar.Files {
		if path, ok := strings.CutPrefix(f.Name, "published/"); ok {
			published[path] = string(f.Data)
		} else if isSource(f.Name) {
			lay(now, f.Name, string(f.Data))
		}
	}
	c := testCase{now: snapshot(now), branch: map[string]string{}}
	if len(before) > 0 {
		c.branch = apply(c.branch, bundle.Build(snapshot(before), nil, nil))
	}
	for path, content := range published {
		lay(c.branch, path, content)
	}
	return c
}

func isSource(name string) bool {
	return strings.HasPrefix(name, "main/") || strings.HasPrefix(name, "env/") || strings.HasPrefix(name, "workloads/")
}

func lay(files map[string]string, path, content string) {
	if strings.TrimSpace(content) == "(deleted)" {
		delete(files, path)
		return
	}
	files[path] = content
}

func snapshot(files map[string]string) *fleet.Snapshot {
	return fleet.Assemble(fleettest.Inputs("dev", files))
}

func (c testCase) published(t *testing.T) *bundle.Published { return read(t, c.now, c.branch) }

// read returns a branch as read from a repository; nil if it has no files.
func read(t testing.TB, s *fleet.Snapshot, files map[string]string) *bundle.Published {
	t.Helper()
	if len(files) == 0 {
		return nil
	}
	p, err := readBranch(s, files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readBranch(s *fleet.Snapshot, files map[string]string) (*bundle.Published, error) {
	var all []bundle.File
	for path, content := range files {
		all = append(all, bundle.NewFile(path, []byte(content)))
	}
	branch := bundle.Branch{Top: bundle.TreeOf(all), Read: func(path string) ([]byte, error) { return []byte(files[path]), nil }}
	if s.GitOps != nil {
		branch.Root = s.GitOps.Path
	}
	var clusterTypes []string
	for _, ct := range s.ClusterTypes {
		clusterTypes = append(clusterTypes, ct.Name)
	}
	return bundle.ReadPublished(branch, s.Environment, clusterTypes, nil)
}

// apply returns the branch after the changes of a bundle.
func apply(branch map[string]string, b *bundle.Bundle) map[string]string {
	branch = maps.Clone(branch)
	if branch == nil {
		branch = map[string]string{}
	}
	for _, c := range b.Changes() {
		if c.Content == nil {
			delete(branch, c.Path)
			continue
		}
		branch[c.Path] = string(c.Content)
	}
	return branch
}

// format formats the changes that a bundle makes to the branch.
func format(b *bundle.Bundle) string {
	var w bytes.Buffer
	for _, f := range b.Folders {
		fmt.Fprintf(&w, "%s/\n", f.Name)
		for i := range f.Assignments {
			formatAssignment(&w, &f.Assignments[i])
		}
	}
	for _, a := range b.Removed {
		fmt.Fprintf(&w, "removed %s\n", a.Name())
	}
	for _, c := range b.Changes() {
		switch {
		case c.Content == nil:
			fmt.Fprintf(&w, "- %s\n", c.Path)
		case c.Old == bundle.Hash{}:
			fmt.Fprintf(&w, "+ %s\n", c.Path)
		default:
			fmt.Fprintf(&w, "~ %s\n", c.Path)
		}
	}
	if p := b.Published(); p != nil {
		for _, d := range p.Drift {
			fmt.Fprintf(&w, "drift %s deleted=%t\n", d.Path, d.Deleted)
		}
	}
	for _, p := range b.Problems {
		if p.Severity != fleet.SeverityNotice {
			fmt.Fprintf(&w, "%s %s %s %s: %s\n", p.Severity, p.Kind, p.Position, p.Assignment, p.Message)
		}
	}
	return w.String()
}

func formatAssignment(w *bytes.Buffer, a *bundle.Assignment) {
	var names []string
	for _, f := range a.Files {
		names = append(names, f.Name())
	}
	fmt.Fprintf(w, "  %s by %s: %s\n", a.Target, strings.Join(a.Policies, ", "), strings.Join(names, " "))
	if a.Held != nil {
		fmt.Fprintf(w, "    held: %s\n", a.Held.Message)
	}
}

// paths returns the sorted paths of a branch.
func paths(branch map[string]string) []string { return slices.Sorted(maps.Keys(branch)) }
