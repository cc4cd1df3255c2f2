package tree_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// branch is a GitOps branch in memory.
type branch map[string]string

func (b branch) published(t testing.TB) *tree.Published {
	t.Helper()
	p, err := b.read("hello")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (b branch) read(workload string) (*tree.Published, error) {
	return tree.ReadPublished(b.at(""), workload)
}

// at returns the branch with a folder for generated files.
func (b branch) at(root string) bundle.Branch {
	var files []bundle.File
	for path, text := range b {
		files = append(files, bundle.NewFile(path, []byte(text)))
	}
	return bundle.Branch{Root: root, Top: bundle.TreeOf(files), Read: func(path string) ([]byte, error) { return []byte(b[path]), nil }}
}

func (b branch) apply(changes []bundle.Change) {
	for _, c := range changes {
		if c.Content == nil {
			delete(b, c.Path)
			continue
		}
		b[c.Path] = string(c.Content)
	}
}

func (b branch) paths() []string {
	var paths []string
	for path := range b {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// target returns a rendered target.
func target(name, text string) tree.Target {
	return tree.Target{Name: name, Rendered: chart.Rendered{
		Name: name, Values: []byte("x: " + text + "\n"),
		Manifests: &chart.Manifests{Content: []byte("a: " + text + "\n"), Objects: []chart.Object{{APIVersion: "v1", Kind: "ConfigMap", Name: text}}, Images: []string{"hello:1"}},
	}}
}

// failed returns a target that could not be rendered.
func failed(name string) tree.Target {
	return tree.Target{Name: name, Rendered: chart.Rendered{Name: name, Problems: []fleet.Problem{{Severity: fleet.SeverityError, Message: "does not render"}}}}
}

func wanted(targets ...tree.Target) tree.Wanted {
	return tree.Wanted{Workload: "hello", Environment: "dev", Targets: targets, Tracking: tree.Tracking{Commit: "abc"}}
}

func messages(problems []fleet.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s %s: %s\n", p.Severity, p.Assignment, p.Message)
	}
	return b.String()
}

func changes(c []bundle.Change) string {
	var b strings.Builder
	for _, change := range c {
		sign := "~"
		switch {
		case change.Content == nil:
			sign = "-"
		case change.Old == bundle.Hash{}:
			sign = "+"
		}
		b.WriteString(sign + change.Path + "\n")
	}
	return b.String()
}

func Example() {
	rendered := chart.Rendered{Name: "functional-test", Manifests: &chart.Manifests{Content: []byte("kind: Pod\n"), Objects: []chart.Object{{Kind: "Pod"}}}}
	built := tree.Build(tree.Wanted{
		Workload: "hello-world-app", Environment: "dev",
		Targets:  []tree.Target{{Name: "functional-test", Rendered: rendered}},
		Tracking: tree.Tracking{Commit: "3b18e512dba79e4c8300dd08aeb37f8e728b8dad", Version: "1.4.0"},
	}, nil)
	for _, c := range built.Changes() {
		fmt.Println(c.Path)
	}
	// Output:
	// .github/tracking/Promoted_Commit_Id
	// .github/tracking/Version
	// .kalypso/deliveries/hello-world-app.json
	// functional-test/kustomization.yaml
	// functional-test/manifests.yaml
}

// TestLifeOfATarget adds, changes and removes a target. It is held when it
// cannot be rendered, and restored when changed by hand.
func TestLifeOfATarget(t *testing.T) {
	b := branch{"README.md": "ours", "other/manifests.yaml": "not ours"}
	step := func(name string, w tree.Wanted, want string) *tree.Tree {
		t.Helper()
		built := tree.Build(w, b.published(t))
		if got := changes(built.Changes()); got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
		b.apply(built.Changes())
		if again := tree.Build(w, b.published(t)).Changes(); len(again) > 0 {
			t.Errorf("%s: a second run changes %s", name, changes(again))
		}
		return built
	}
	step("appears", wanted(target("a", "1"), target("b", "1")),
		"+.github/tracking/Promoted_Commit_Id\n+.kalypso/a/values.yaml\n+.kalypso/b/values.yaml\n+.kalypso/deliveries/hello.json\n+a/kustomization.yaml\n+a/manifests.yaml\n+b/kustomization.yaml\n+b/manifests.yaml\n")
	step("changes", wanted(target("a", "2"), target("b", "1")), "~.kalypso/a/values.yaml\n~.kalypso/deliveries/hello.json\n~a/manifests.yaml\n")

	held := step("held", wanted(failed("a"), target("b", "1")), "")
	if got, want := messages(held.Problems), "error a: does not render\n"; got != want || held.Targets[0].Held == nil {
		t.Errorf("got %q, want %q", got, want)
	}
	b["a/manifests.yaml"] = "by hand"
	delete(b, "b/kustomization.yaml")
	if got, want := b.published(t).Drift, []bundle.Drift{{Path: "a/manifests.yaml"}, {Path: "b/kustomization.yaml", Deleted: true}}; !cmp.Equal(got, want) {
		t.Errorf("drift: got %v, want %v", got, want)
	}
	b["a/more.yaml"], b["a/deep/more.json"], b["a/notes.md"], b["c/more.yaml"] = "added", "added", "applied by nothing", "in no folder of ours"
	if got, want := b.published(t).Added, []string{"a/deep/more.json", "a/more.yaml"}; !cmp.Equal(got, want) {
		t.Errorf("added: got %v, want %v", got, want)
	}
	for _, at := range []string{"a/more.yaml", "a/deep/more.json", "a/notes.md", "c/more.yaml"} {
		delete(b, at)
	}
	step("held and changed by hand", wanted(failed("a"), target("b", "1")), "+b/kustomization.yaml\n")
	step("restored", wanted(target("a", "2"), target("b", "1")), "~a/manifests.yaml\n")

	withheld := wanted(target("b", "1"))
	withheld.Withhold = true
	step("withheld", withheld, "")
	removed := step("goes", wanted(target("b", "1")), "-.kalypso/a/values.yaml\n~.kalypso/deliveries/hello.json\n-a/kustomization.yaml\n-a/manifests.yaml\n")
	if len(removed.Removed) != 1 || removed.Removed[0].Name != "a" {
		t.Errorf("removed %v", removed.Removed)
	}
	if b["README.md"] != "ours" || b["other/manifests.yaml"] != "not ours" {
		t.Error("files of others were touched")
	}
}

// TestMoves checks that a target that gets another folder leaves
// nothing behind, and that two targets can swap theirs.
func TestMoves(t *testing.T) {
	b := branch{}
	x, y := target("x", "1"), target("y", "2")
	b.apply(tree.Build(wanted(x, y), nil).Changes())
	x.Folder, y.Folder = "y", "x"
	b.apply(tree.Build(wanted(x, y), b.published(t)).Changes())
	if b["y/manifests.yaml"] != "a: 1\n" || b["x/manifests.yaml"] != "a: 2\n" {
		t.Errorf("not swapped: %v", b)
	}
	x.Folder = "elsewhere/deep"
	b.apply(tree.Build(wanted(x, y), b.published(t)).Changes())
	want := []string{
		".github/tracking/Promoted_Commit_Id", ".kalypso/deliveries/hello.json", ".kalypso/x/values.yaml", ".kalypso/y/values.yaml",
		"elsewhere/deep/kustomization.yaml", "elsewhere/deep/manifests.yaml", "x/kustomization.yaml", "x/manifests.yaml",
	}
	if diff := cmp.Diff(want, b.paths()); diff != "" {
		t.Error(diff)
	}
	// x is held in its folder, so y cannot take it.
	broken := failed("x")
	broken.Folder = "x"
	y.Folder = "elsewhere/deep"
	built := tree.Build(wanted(broken, y), b.published(t))
	if got := messages(built.Problems); !strings.Contains(got, `"y" and "x" are both written to "elsewhere/deep"`) {
		t.Errorf("got %q", got)
	}
	if got := built.Changes(); len(got) > 0 {
		t.Errorf("got %s, want none", changes(got))
	}
}

// TestCollisions checks that two targets with the same path are both held, and both reported.
func TestCollisions(t *testing.T) {
	in := func(name, folder string) tree.Target {
		x := target(name, "1")
		x.Folder = folder
		return x
	}
	for name, tc := range map[string]struct {
		targets []tree.Target
		want    string
	}{
		"one folder":          {[]tree.Target{in("a", "x"), in("b", "x")}, `"a" and "b" are both written to "x"`},
		"one within another":  {[]tree.Target{in("a", "x"), in("b", "x/y")}, `"a" and "b" are both written to "x"`},
		"one name":            {[]tree.Target{in("a", "x"), in("a", "y")}, `"a" and "a" are both written`},
		"leaves":              {[]tree.Target{in("a", "../x")}, "the folder"},
		"absolute":            {[]tree.Target{in("a", "/x")}, "the folder"},
		"root":                {[]tree.Target{in("a", ".")}, "is not one that a target can have"},
		"Kalypso's own":       {[]tree.Target{in("a", ".kalypso/b")}, "is not one that a target can have"},
		"the forge's own":     {[]tree.Target{in("a", ".github/workflows")}, "the folder"},
		"name with a slash":   {[]tree.Target{in("a/b", "x")}, "is not a name"},
		"name of inventories": {[]tree.Target{in("deliveries", "x")}, "is not a name"},
	} {
		t.Run(name, func(t *testing.T) {
			built := tree.Build(wanted(tc.targets...), nil)
			if got := messages(built.Problems); !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got := changes(built.Changes()); got != "+.github/tracking/Promoted_Commit_Id\n+.kalypso/deliveries/hello.json\n" {
				t.Errorf("something was written: %s", got)
			}
		})
	}
}

// TestForeignFilesBlockTargets checks that files of others are not overwritten.
func TestForeignFilesBlockTargets(t *testing.T) {
	first := branch{}
	first.apply(tree.Build(wanted(), nil).Changes())
	for name, tc := range map[string]struct{ at, want string }{
		"file":        {"a/manifests.yaml", "a file that Kalypso did not write"},
		"folder":      {"a/manifests.yaml/x", "a folder"},
		"file above":  {"a", "a file"},
		"values file": {".kalypso/a/values.yaml", "a file that Kalypso did not write"},
	} {
		b := branch{tc.at: "theirs"}
		for at, text := range first {
			b[at] = text
		}
		if got := messages(tree.Build(wanted(target("a", "1")), b.published(t)).Problems); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	b := branch{}
	other := wanted(target("a", "1"))
	other.Workload = "other"
	b.apply(tree.Build(other, nil).Changes())
	if got := messages(tree.Build(wanted(target("a", "2")), b.published(t)).Problems); !strings.Contains(got, `workload and target "other/a"`) {
		t.Errorf("another workload: got %q", got)
	}
}

// Files of the original scheduler's pipelines are replaced in the folders of the workload's targets. Those in other folders may be of
// other applications: they stay, and are reported.
func TestAdoption(t *testing.T) {
	b := branch{
		"a/gen_manifests.yaml": "old", "a/kustomization.yaml": "old", "a/notes.txt": "ours",
		"others/gen_manifests.yaml": "old", "others/kustomization.yaml": "old", "README.md": "ours", ".github/gen_manifests.yaml": "ours",
		".github/tracking/Promoted_Commit_Id": "old\n", ".github/tracking/Image_tag": "1.0\n",
	}
	p := b.published(t)
	if want := (tree.Tracking{Commit: "old", ImageTag: "1.0"}); p.Tracking != want || !p.Shared() {
		t.Errorf("tracking: got %v, want %v", p.Tracking, want)
	}
	if again := p.Adopt(nil).Adopt(map[string]string{"a": "a"}); len(again.Targets) != 1 {
		t.Errorf("a second adoption has the targets %v", again.Targets)
	}
	p = p.Adopt(map[string]string{"a": "a"})
	held := tree.Build(wanted(failed("a")), p)
	if got, want := changes(held.Changes()), "~.github/tracking/Promoted_Commit_Id\n+.kalypso/deliveries/hello.json\n"; got != want {
		t.Errorf("held: got %s, want %s", got, want)
	}
	built := tree.Build(wanted(target("a", "1")), p)
	if got := messages(built.Problems); len(built.Removed) > 0 || !strings.Contains(got, `are left alone, because no target of the workload is written there: "others"`) {
		t.Errorf("removed %v, reported %q", built.Removed, got)
	}
	b.apply(built.Changes())
	want := []string{
		".github/gen_manifests.yaml", ".github/tracking/Image_tag", ".github/tracking/Promoted_Commit_Id", ".kalypso/a/values.yaml",
		".kalypso/deliveries/hello.json", "README.md", "a/kustomization.yaml", "a/manifests.yaml", "a/notes.txt",
		"others/gen_manifests.yaml", "others/kustomization.yaml",
	}
	if diff := cmp.Diff(want, b.paths()); diff != "" {
		t.Error(diff)
	}
	if p := b.published(t); !p.Shared() || len(p.Adopt(nil).Problems) > 0 {
		t.Errorf("after the adoption, shared is %v, and the problems are %v", p.Shared(), p.Problems)
	}
}

// A target whose name is not that of its folder keeps the files that it had while it is held.
func TestAdoptionOfAFolderWithAnotherName(t *testing.T) {
	b := branch{"region/a/gen_manifests.yaml": "old"}
	x := failed("web")
	x.Folder = "region/a"
	built := tree.Build(wanted(x), b.published(t).Adopt(map[string]string{"region/a": "web"}))
	if got := changes(built.Changes()); strings.Contains(got, "gen_manifests") {
		t.Errorf("got %s", got)
	}
}

// TestRoot checks that everything except the tracking files is below the
// root, and that files elsewhere are left alone.
func TestRoot(t *testing.T) {
	b := branch{"apps/hello/a/gen_manifests.yaml": "old", "apps/hello-too/b/gen_manifests.yaml": "theirs", "c/gen_manifests.yaml": "theirs"}
	read := func() *tree.Published {
		p, err := tree.ReadPublished(b.at("apps/hello"), "hello")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	w := wanted(target("x", "1"))
	w.Root = "apps/hello"
	built := tree.Build(w, read().Adopt(map[string]string{"a": "x"}))
	b.apply(built.Changes())
	want := []string{
		".github/tracking/Promoted_Commit_Id", "apps/hello-too/b/gen_manifests.yaml", "apps/hello/.kalypso/deliveries/hello.json",
		"apps/hello/.kalypso/x/values.yaml", "apps/hello/x/kustomization.yaml", "apps/hello/x/manifests.yaml", "c/gen_manifests.yaml",
	}
	if diff := cmp.Diff(want, b.paths()); diff != "" {
		t.Error(diff)
	}
	if again := tree.Build(w, read()).Changes(); len(again) > 0 {
		t.Errorf("a second run changes %s", changes(again))
	}
}

// TestHostileInventories checks that an inventory cannot list anything but files of targets.
func TestHostileInventories(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":       `{`,
		"another":        `{"version": 1, "workload": "other"}`,
		"no version":     `{"workload": "hello"}`,
		"folder":         `{"version": 1, "workload": "hello", "targets": {"a": {"folder": "../x"}}}`,
		"file":           `{"version": 1, "workload": "hello", "targets": {"a": {"folder": "x", "files": {"../../README.md": "0d1f"}}}}`,
		"hash":           `{"version": 1, "workload": "hello", "targets": {"a": {"folder": "x", "files": {"values.yaml": "0d1f"}}}}`,
		"name":           `{"version": 1, "workload": "hello", "targets": {"..": {"folder": "x"}}}`,
		"nothing at all": ``,
	} {
		b := branch{".kalypso/deliveries/hello.json": text, "README.md": "ours"}
		p := b.published(t)
		if len(p.Problems) != 1 {
			t.Errorf("%s: got %v, want one problem", name, p.Problems)
		}
		if got := changes(tree.Build(wanted(), p).Changes()); strings.Contains(got, "README") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	// Files at the paths of ours are assumed to be ours again.
	b := branch{}
	b.apply(tree.Build(wanted(target("a", "1")), nil).Changes())
	b[".kalypso/deliveries/hello.json"] = "{"
	if got, want := changes(tree.Build(wanted(target("a", "2")), b.published(t)).Changes()), "~.kalypso/a/values.yaml\n~.kalypso/deliveries/hello.json\n~a/manifests.yaml\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := (branch{".kalypso/deliveries/hello.json": `{"version": 3}`}).read("hello"); err == nil || !strings.Contains(err.Error(), "a newer Kalypso wrote it") {
		t.Errorf("got %v", err)
	}
}

// TestDescriptor checks that the descriptor has what was rendered, without the fields that only clusters set.
func TestDescriptor(t *testing.T) {
	x := target("a", "1")
	x.Chart = tree.Origin{Name: "shop", Version: "1.0.0", Digest: "sha256:abc"}
	x.Descriptor = &hub.DeploymentDescriptor{}
	x.Descriptor.APIVersion, x.Descriptor.Kind, x.Descriptor.Name = "hub.kalypso.io/v1alpha1", "DeploymentDescriptor", "a"
	x.Descriptor.Spec.WorkloadVersion.Version = "1.4.0"
	b := branch{}
	b.apply(tree.Build(wanted(x), nil).Changes())
	want := `apiVersion: hub.kalypso.io/v1alpha1
kind: DeploymentDescriptor
metadata:
  annotations:
    app.kalypso.io/chart: shop 1.0.0
    app.kalypso.io/chart-digest: sha256:abc
    app.kalypso.io/images: hello:1
  name: a
spec:
  deploymentTarget:
    environment: ""
    manifests:
      repo: ""
    name: ""
  workload:
    name: ""
  workloadVersion:
    version: 1.4.0
`
	if diff := cmp.Diff(want, b[".kalypso/a/descriptor.yaml"]); diff != "" {
		t.Error(diff)
	}
	if x.Descriptor.Annotations != nil {
		t.Error("the argument was changed")
	}
}

// TestNeverTouchesOthers checks, for any sequence of rounds, that files that Kalypso did not write stay, that a
// repeated round changes nothing, and that only files in the inventory are deleted.
func TestNeverTouchesOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		b := branch{"a/notes.txt": "theirs", "z/manifests.yaml": "theirs"}
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			var targets []tree.Target
			for _, name := range rapid.SliceOfN(names, 0, 4).Draw(t, "targets") {
				x := target(name, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "text"))
				if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
					x = failed(name)
				}
				x.Folder = rapid.SampledFrom([]string{"", "a", "b", "c", "z", "a/deep"}).Draw(t, "folder")
				targets = append(targets, x)
			}
			w := wanted(targets...)
			w.Withhold = rapid.Bool().Draw(t, "withhold")
			p, err := b.read("hello")
			if err != nil {
				t.Fatal(err)
			}
			built := tree.Build(w, p)
			var inventory struct {
				Targets map[string]struct{ Folder string }
			}
			b.apply(built.Changes())
			if err := json.Unmarshal([]byte(b[".kalypso/deliveries/hello.json"]), &inventory); err != nil {
				t.Fatal(err)
			}
			if b["a/notes.txt"] != "theirs" || b["z/manifests.yaml"] != "theirs" {
				t.Fatalf("files of others were touched: %v", b)
			}
			p, err = b.read("hello")
			if err != nil || len(p.Problems) > 0 {
				t.Fatalf("the inventory cannot be read: %v %v", err, p.Problems)
			}
			if again := tree.Build(w, p).Changes(); len(again) > 0 {
				t.Fatalf("a second run changes %s", changes(again))
			}
			if len(p.Drift) > 0 {
				t.Fatalf("drift without anybody: %v", p.Drift)
			}
		}
	})
}
