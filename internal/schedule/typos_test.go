package schedule

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// TestTypoChangesNothing makes one typo in a key, kind, enumeration or reference of the hello fleet, whose files are published. A typo
// never removes or changes a published file, and holds only assignments that depend on the document. It tries every eleventh of
// them, or all if KALYPSO_SWEEP is "all".
func TestTypoChangesNothing(t *testing.T) {
	for environment, other := range map[string]string{"dev": "stage", "stage": "dev"} {
		t.Run(environment, func(t *testing.T) { typosChangeNothing(t, environment, other) })
	}
}

func typosChangeNothing(t *testing.T, environment, other string) {
	s := helloFleet(t, nil)
	base := s.bundle(t, environment)
	published, err := base.AsPublished()
	if err != nil {
		t.Fatal(err)
	}
	all := typosOf(t, s.files, other)
	step := 11
	if os.Getenv("KALYPSO_SWEEP") == "all" {
		step = 1
	}
	cache := &fleet.Cache{}
	lost, over := 0, 0
	for i := 0; i < len(all); i += step {
		typo := all[i]
		snapshot, err := helloFleet(t, map[string]string{typo.file: typo.text}).tryLoad(t, environment, cache)
		if err != nil {
			continue // nothing is written
		}
		b := bundle.Build(snapshot, published, nil)
		if diff := differences(base, b); len(diff) > 0 {
			lost++
			t.Errorf("%s: %v", typo, diff)
		}
		for _, a := range heldIn(b) {
			if before := assignmentOf(base, a); before != nil && !dependsOn(before, typo.object) {
				over++
				t.Errorf("%s: %s is held, and does not depend on it", typo, a.Name())
				break
			}
		}
	}
	t.Logf("%d typos: %d removed or changed something, %d held too much", (len(all)+step-1)/step, lost, over)
}

// typo is a file with one typo.
type typo struct {
	file, text string
	line       int
	from, to   string
	path       string
	object     fleet.Ref
}

func (t typo) String() string {
	return fmt.Sprintf("%s:%d: %s: %q for %q", t.file, t.line, t.path, t.to, t.from)
}

// typosOf returns the typos in documents of the control plane and in Workloads, without those of another environment.
func typosOf(t *testing.T, files map[string]string, other string) []typo {
	t.Helper()
	var all []typo
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(file, ".yaml") || strings.Contains(file, "/"+other+"/") || strings.HasSuffix(file, other+".yaml") {
			continue
		}
		decoder := yaml.NewDecoder(strings.NewReader(files[file]))
		for {
			var root yaml.Node
			if err := decoder.Decode(&root); err != nil {
				break
			}
			w := typoWalk{file: file, text: files[file], object: refOf(&root)}
			w.node(root.Content[0], nil)
			all = append(all, w.all...)
		}
	}
	return all
}

// typoWalk makes the typos of one document.
type typoWalk struct {
	file, text string
	object     fleet.Ref
	all        []typo
}

func (w *typoWalk) node(n *yaml.Node, path []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := append(slices.Clone(path), key.Value)
			w.scalar(key, at)
			if !w.opaque(at) {
				w.node(value, at)
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			w.node(item, append(slices.Clone(path), fmt.Sprint(i)))
		}
	case yaml.ScalarNode:
		w.scalar(n, path)
	}
}

// opaque are values that any text may be: names, values of the configuration, addresses, templates and schemas.
func (w *typoWalk) opaque(path []string) bool {
	joined := strings.Join(path, ".")
	last := path[len(path)-1]
	switch {
	case joined == "metadata.name", last == "name", path[0] == "data" && len(path) > 1, last == "repo", last == "path", last == "branch", last == "autoMerge":
		return true
	}
	return joined == "spec.manifests" || joined == "spec.schema" || joined == "spec.keys"
}

// scalar makes the typos of a text: two letters swapped, one dropped, doubled and replaced.
func (w *typoWalk) scalar(n *yaml.Node, path []string) {
	if len(n.Value) < 3 || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return
	}
	lines := strings.SplitAfter(w.text, "\n")
	line := lines[n.Line-1]
	at := n.Column - 1 + strings.Index(line[n.Column-1:], n.Value)
	i := len(n.Value) / 2
	if n.Value[i] == n.Value[i-1] {
		i--
	}
	v := n.Value
	for _, to := range []string{
		v[:i-1] + v[i:i+1] + v[i-1:i] + v[i+1:], v[:i] + v[i+1:], v[:i] + v[i:i+1] + v[i:], v[:i] + "z" + v[i+1:], v[:len(v)-1], strings.ToLower(v),
	} {
		if to == v {
			continue
		}
		changed := slices.Clone(lines)
		changed[n.Line-1] = line[:at] + to + line[at+len(v):]
		w.all = append(w.all, typo{
			file: w.file, text: strings.Join(changed, ""), line: n.Line, from: v, to: to, path: strings.Join(path, "."), object: w.object,
		})
	}
}

func (s *shelf) tryLoad(t *testing.T, environment string, cache *fleet.Cache) (*fleet.Snapshot, error) {
	l := Loader{Repositories: s, Cache: cache}
	loaded, err := l.Load(t.Context(), Request{ControlPlane: "control-plane", Environment: environment})
	if err != nil {
		return nil, err
	}
	return loaded.Snapshot, nil
}

func (s *shelf) bundle(t *testing.T, environment string) *bundle.Bundle {
	t.Helper()
	return bundle.Build(s.load(t, Request{Environment: environment}).Snapshot, nil, nil)
}

// differences lists the published files of assignments that are gone, or lack a line.
func differences(base, now *bundle.Bundle) []string {
	files := map[string]bundle.File{}
	for f := range now.Files {
		files[f.Path] = f
	}
	var all []string
	for f := range base.Files {
		is, there := files[f.Path]
		switch {
		case strings.Contains(f.Path, ".kalypso/") || strings.HasSuffix(f.Path, "README.md"):
		case !there:
			all = append(all, "- "+f.Path)
		case is.Hash != f.Hash && !hasLines(is, f):
			all = append(all, "~ "+f.Path)
		}
	}
	return all
}

// hasLines reports whether a file has all lines of another one: a mistyped key of a value that others override anyway is only added.
func hasLines(is, was bundle.File) bool {
	lines := strings.Split(string(is.Content()), "\n")
	return is.Written() && !slices.ContainsFunc(strings.Split(string(was.Content()), "\n"), func(line string) bool { return !slices.Contains(lines, line) })
}

// heldIn returns the assignments that are held.
func heldIn(b *bundle.Bundle) []*bundle.Assignment {
	var held []*bundle.Assignment
	for _, f := range b.Folders {
		for i := range f.Assignments {
			if f.Assignments[i].Held != nil {
				held = append(held, &f.Assignments[i])
			}
		}
	}
	return held
}

func assignmentOf(b *bundle.Bundle, a *bundle.Assignment) *bundle.Assignment {
	for _, f := range b.Folders {
		if f.Name == a.Folder() {
			found, _ := f.Assignment(a.Target)
			return found
		}
	}
	return nil
}

// refOf names the object of a document.
func refOf(root *yaml.Node) fleet.Ref {
	var header struct {
		Kind     string
		Metadata struct{ Name string }
	}
	_ = root.Decode(&header)
	return fleet.Ref{Kind: header.Kind, Name: header.Metadata.Name}
}

// dependsOn reports whether an assignment depends on a document.
func dependsOn(a *bundle.Assignment, ref fleet.Ref) bool {
	switch ref.Kind {
	case "Environment", "BaseRepo", "GitOpsRepo":
		return true
	case "SchedulingPolicy":
		return slices.Contains(a.Policies, ref.Name)
	case "ClusterType":
		return a.ClusterType == ref.Name
	case "Workload":
		return a.Workload == ref.Name
	case "WorkloadRegistration":
		return a.Registration == ref.Name
	}
	return slices.Contains(a.Sources.Refs(), ref)
}
