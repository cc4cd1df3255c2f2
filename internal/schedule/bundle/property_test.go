package bundle_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// TestMain limits how often properties are checked, because every world is parsed, scheduled and rendered. Use
// -rapid.checks for more.
func TestMain(m *testing.M) {
	checks := flag.Lookup("rapid.checks")
	checks.DefValue = "40"
	if err := checks.Value.Set(checks.DefValue); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// publishedOf reads the branch of a world like the schedule package does.
func publishedOf(t *rapid.T, w *world, s *fleet.Snapshot) *bundle.Published {
	p, err := readBranch(s, w.branch)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestIncrementalIsFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		var previous *bundle.Bundle
		for range rapid.IntRange(2, 5).Draw(t, "rounds") {
			s := w.snapshot()
			p := publishedOf(t, w, s)
			got, want := bundle.Build(s, p, previous), bundle.Build(s, p, nil)
			if diff := cmp.Diff(holdingsOf(got), holdingsOf(want)); diff != "" {
				t.Fatalf("incremental and full differ (-incremental +full):\n%s", diff)
			}
			previous = got
			if rapid.Bool().Draw(t, "publish") {
				w.branch = apply(w.branch, got)
			}
			for range rapid.IntRange(1, 3).Draw(t, "edits") {
				w.edit(t)
			}
		}
	})
}

// TestSettledIsFull checks builds that do not build the folders that an earlier build, of another process, found to be as published.
func TestSettledIsFull(t *testing.T) {
	outcome := func(b *bundle.Bundle) any {
		hashes := map[string]string{}
		for f := range b.Files {
			hashes[f.Path] = f.Hash.String()
		}
		return []any{b.Changes(), b.Problems, hashes, b.Count(), len(b.Removed)}
	}
	var used atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		known := map[fleet.Digest]bool{}
		settled := func(d fleet.Digest) bool {
			if known[d] {
				used.Add(1)
			}
			return known[d]
		}
		for round := range rapid.IntRange(3, 6).Draw(t, "rounds") {
			s := w.snapshot()
			p := publishedOf(t, w, s)
			got, want := bundle.BuildWith(s, p, nil, bundle.Options{Settled: settled}), bundle.Build(s, p, nil)
			if diff := cmp.Diff(outcome(got), outcome(want)); diff != "" {
				t.Fatalf("builds with and without settled folders differ (-with +without):\n%s", diff)
			}
			for _, d := range got.Settled() {
				known[d] = true
			}
			if round == 0 || rapid.Bool().Draw(t, "publish") {
				w.branch = apply(w.branch, want)
			}
			if round < 2 {
				continue // the first rounds settle what they can
			}
			for range rapid.IntRange(0, 2).Draw(t, "edits") {
				w.edit(t)
			}
		}
	})
	if used.Load() == 0 {
		t.Error("no folder was settled")
	}
}

// TestSmallEditsAreFull covers what random edits rarely do to a fleet without problems: only one input of the folders of clusters
// changes, so that everything else of the previous build is used again.
func TestSmallEditsAreFull(t *testing.T) {
	object := func(kind, name, rest string) string {
		return group + "kind: " + kind + "\nmetadata: {name: " + name + rest + "\n"
	}
	clusterType := func(size, config string) string {
		return object("ClusterType", "one", ", labels: {size: "+size+"}}\nspec: {reconciler: flux, namespaceService: default, configType: "+config+"}")
	}
	cluster := func(name, labels string) string {
		return object("Cluster", name, "}\nspec: {clusterType: one, labels: {"+labels+"}}")
	}
	layer := func(name, labels, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", labels: {platform-config: \"true\"" + labels + "}}\ndata: {" + value + "}\n"
	}
	w := &world{environment: "dev", files: map[string]string{
		"env/one.yaml":    clusterType("small", "configmap"),
		"env/p.yaml":      object("SchedulingPolicy", "p", "}\nspec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}"),
		"env/target.yaml": object("DeploymentTarget", "t", ", labels: {workload: w}}\nspec: {environment: dev, manifests: {repo: 'https://example.com/r', branch: b, path: p}}"),
		"env/base.yaml":   layer("base", "", "K: v"),
		"env/size.yaml":   layer("size", ", size: large", "S: v"),
		"env/a.yaml":      cluster("a", "zone: z") + "---\n" + layer("a", ", cluster: a", "A: v"),
		"env/b.yaml":      cluster("b", "zone: z"),
		"env/b-own.yaml":  layer("b", ", cluster: b", "B: v"),
		"env/c.yaml":      cluster("c", "zone: y"),
		"env/zone.yaml":   layer("zone", ", zone: y", "Z: v"),
	}}
	built := bundle.Build(w.snapshot(), nil, nil)
	for _, edit := range []struct{ file, content string }{
		{"env/b-own.yaml", layer("b", ", cluster: b", "B: w")},
		{"env/zone.yaml", layer("zone", ", zone: y", "Z: w")},
		{"env/base.yaml", layer("base", "", "K: w")},
		{"env/a.yaml", cluster("a", "zone: y") + "---\n" + layer("a", ", cluster: a", "A: w")},
		{"env/b.yaml", cluster("b", "zone: y")},
		{"env/b.yaml", "# another line\n" + cluster("b", "zone: y")},
		{"env/one.yaml", clusterType("large", "configmap")},
		{"env/one.yaml", clusterType("large", "none")},
		{"env/one.yaml", clusterType("small", "configmap")},
		{"env/b-own.yaml", layer("b", ", cluster: c", "B: w")},
		{"env/b-own.yaml", layer("b", ", cluster: c", "B: '{{ .Broken'")},
		{"env/b-own.yaml", layer("b", ", cluster: c", "B: w")},
		{"env/aa.yaml", cluster("aa", "zone: y")},
		{"env/c.yaml", ""},
	} {
		if w.files[edit.file] = edit.content; edit.content == "" {
			delete(w.files, edit.file)
		}
		s := w.snapshot()
		published := read(t, s, w.branch)
		built = bundle.Build(s, published, built)
		if diff := cmp.Diff(holdingsOf(built), holdingsOf(bundle.Build(s, published, nil))); diff != "" {
			t.Errorf("incremental and full differ after the edit of %s (-incremental +full):\n%s", edit.file, diff)
		}
		w.branch = apply(w.branch, built)
	}
	if _, ok := built.Assignment(fleet.ClusterFolder("b"), "t"); !ok || built.Count() < 4 {
		t.Errorf("%d assignments, too few for the test to mean something: %v", built.Count(), built.Problems)
	}
}

// TestLayerThatIsGoneCounts covers an input of a folder that none of its objects names and that random edits rarely
// reach: while a file cannot be read, it matters whether a layer that no longer applies still exists.
func TestLayerThatIsGoneCounts(t *testing.T) {
	object := func(kind, name string) string { return group + "kind: " + kind + "\nmetadata: {name: " + name }
	config := func(label string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"" + label + "}}\ndata: {K: v}\n"
	}
	w := &world{environment: "dev", files: map[string]string{
		"env/one.yaml":    object("ClusterType", "one}\nspec: {reconciler: flux, namespaceService: default}\n"),
		"env/p.yaml":      object("SchedulingPolicy", "p}\nspec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}\n"),
		"env/target.yaml": object("DeploymentTarget", "t, labels: {workload: w}}\nspec: {environment: dev, manifests: {repo: r, branch: b, path: p}}\n"),
		"env/c.yaml":      config(""),
	}}
	w.branch = apply(nil, bundle.Build(w.snapshot(), nil, nil))
	w.files["env/broken.yaml"] = "kind: [\n"
	var built *bundle.Bundle
	for _, layer := range []string{config(", size: other"), ""} {
		w.files["env/c.yaml"] = layer
		s := w.snapshot()
		p := read(t, s, w.branch)
		built = bundle.Build(s, p, built)
		if diff := cmp.Diff(holdingsOf(built), holdingsOf(bundle.Build(s, p, nil))); diff != "" {
			t.Errorf("incremental and full differ (-incremental +full):\n%s", diff)
		}
	}
	if a, ok := built.Assignment("one", "t"); !ok || a.Held == nil {
		t.Error("the assignment is not held")
	}
}

func TestOrderAndCoresDoNotMatter(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(cores) })
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.edit(t)
		runtime.GOMAXPROCS(1)
		want := bundle.Build(w.snapshot(), nil, nil)
		runtime.GOMAXPROCS(4)
		got := bundle.Build(w.snapshot(), nil, nil) // files of sources are in random order
		if diff := cmp.Diff(holdingsOf(want), holdingsOf(got)); diff != "" {
			t.Fatalf("one core and four differ (-one +four):\n%s", diff)
		}
	})
}

func TestOrderOfDocumentsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		joined, own := map[string]string{}, []string{}
		for _, d := range documents {
			if strings.HasPrefix(d.path, "env/") {
				own = append(own, w.files[d.path])
			} else {
				joined[d.path] = w.files[d.path]
			}
		}
		joined["env/all.yaml"] = strings.Join(rapid.Permutation(own).Draw(t, "documents"), "---\n")
		want := bundle.Build(w.snapshot(), nil, nil)
		got := bundle.Build(fleet.Assemble(fleettest.Inputs("dev", joined)), nil, nil)
		if diff := cmp.Diff(contents(want), contents(got)); diff != "" {
			t.Fatalf("files differ (-apart +joined):\n%s", diff)
		}
	})
}

// drawHistory returns a world in which something was published and then edited.
func drawHistory(t *rapid.T) *world {
	w := drawWorld(t)
	s := w.snapshot()
	w.branch = apply(w.branch, bundle.Build(s, nil, nil))
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		w.edit(t)
	}
	return w
}

func TestEveryFileIsInItsFolder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawHistory(t)
		s := w.snapshot()
		b := bundle.Build(s, publishedOf(t, w, s), nil)
		root := ""
		if s.GitOps != nil && s.GitOps.Path != "" {
			root = s.GitOps.Path + "/"
		}
		// Each environment has a tracking file of its own if another one, such as the one before a rename, has files on the branch.
		allowed := map[string]bool{bundle.TrackingPath: true, root + bundle.TrackingPath: true}
		for _, f := range b.Folders {
			allowed[root+f.Name+"/README.md"] = true
			allowed[root+".kalypso/inventory/"+f.Name+".json"] = true
			for _, a := range f.Assignments {
				for _, name := range []string{"namespace.yaml", "platform-config.yaml", "platform-config.sh", "reconciler.yaml"} {
					allowed[root+a.Name()+"/"+name] = true
				}
			}
		}
		seen := map[string]bool{}
		for f := range b.Files {
			if !allowed[f.Path] || seen[f.Path] {
				t.Fatalf("file %s has no place, or two", f.Path)
			}
			seen[f.Path] = true
			if f.Written() && bundle.HashOf(f.Content()) != f.Hash {
				t.Fatalf("file %s has another hash", f.Path)
			}
		}
	})
}

func TestEveryWantedPairIsThereOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawHistory(t)
		s := w.snapshot()
		b := bundle.Build(s, publishedOf(t, w, s), nil)
		count := map[string]int{}
		for _, f := range b.Folders {
			for i := range f.Assignments {
				a := &f.Assignments[i]
				count[a.Name()]++
				if a.Held == nil && len(a.Files) == 0 {
					t.Fatalf("%s is neither rendered nor held", a.Name())
				}
			}
		}
		for _, ct := range s.ClusterTypes {
			for _, a := range placement.Decide(s, placement.Options{}).For(ct.Name) {
				if name := ct.Name + "/" + a.Target.Name; count[name] != 1 {
					t.Fatalf("%s is there %d times", name, count[name])
				}
			}
		}
		for _, a := range b.Removed {
			if count[a.Name()] != 0 {
				t.Fatalf("%s is both wanted and removed", a.Name())
			}
		}
	})
}

func TestPublishedOnceNothingChangesAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawHistory(t)
		s := w.snapshot()
		w.branch = apply(w.branch, bundle.Build(s, publishedOf(t, w, s), nil))
		again := bundle.Build(s, publishedOf(t, w, s), nil)
		if changes := again.Changes(); len(changes) > 0 {
			t.Fatalf("published and built again, it changes %s", changed(changes))
		}
	})
}

// TestAbsenceIsNotIntent breaks one file of a published fleet. Nothing else changes, so everything published stays,
// with its records. What was held and never published may appear, for example if a schema held it.
func TestAbsenceIsNotIntent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		s := w.snapshot()
		w.branch = apply(w.branch, bundle.Build(s, nil, nil))
		before := recorded(publishedOf(t, w, s))
		d := rapid.SampledFrom(documents[:len(documents)-1]).Draw(t, "document") // the last one determines where files are written
		w.spoil(t, d)
		s = w.snapshot()
		b := bundle.Build(s, publishedOf(t, w, s), nil)
		w.branch = apply(w.branch, b)
		after := recorded(publishedOf(t, w, s))
		maps.DeleteFunc(after, func(name string, _ holding) bool { _, known := before[name]; return !known })
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("with %s unreadable the branch changes (-before +after):\n%s", d.path, diff)
		}
		if len(b.Removed) > 0 {
			t.Fatalf("with %s unreadable %d assignments are removed", d.path, len(b.Removed))
		}
	})
}

// recorded returns the published assignments by name.
func recorded(p *bundle.Published) map[string]holding {
	all := map[string]holding{}
	for _, f := range p.Folders {
		for i := range f.Assignments {
			all[f.Assignments[i].Name()] = holdingOf(&f.Assignments[i])
		}
	}
	return all
}

// TestFilesOfOthersAreLeftAlone puts files that others wrote where Kalypso would write its own, unless it did already.
func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawHistory(t)
		s := w.snapshot()
		for _, c := range bundle.Build(s, publishedOf(t, w, s), nil).Changes() {
			_, exists := w.branch[c.Path]
			if exists || strings.Contains(c.Path, ".kalypso/") || !rapid.Bool().Draw(t, c.Path) {
				continue
			}
			w.branch[c.Path] = "theirs\n"
		}
		p := publishedOf(t, w, s)
		ours := map[string]bool{bundle.TrackingPath: true}
		if s.GitOps != nil {
			ours[path.Join(s.GitOps.Path, bundle.TrackingPath)] = true
		}
		for _, f := range p.Folders {
			ours[f.Readme.Path], ours[f.Inventory.Path] = true, true
		}
		for _, h := range recorded(p) {
			for _, file := range h.Files {
				ours[file.Path] = true
			}
		}
		for _, c := range bundle.Build(s, p, nil).Changes() {
			if _, exists := w.branch[c.Path]; exists && !ours[c.Path] {
				t.Fatalf("%s is not ours and is changed", c.Path)
			}
		}
	})
}

func TestHeldAssignmentsKeepTheirFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawHistory(t)
		s := w.snapshot()
		p := publishedOf(t, w, s)
		published := recorded(p)
		for _, h := range holdingsOf(bundle.Build(s, p, nil)).Assignments {
			if h.Held == nil {
				continue
			}
			if diff := cmp.Diff(published[h.Name].Files, h.Files); diff != "" {
				t.Fatalf("held %s has other files (-published +held):\n%s", h.Name, diff)
			}
		}
	})
}

// TestMendingEndsWhereItBegan breaks a file, publishes, and repairs it: the published state is the same as before.
func TestMendingEndsWhereItBegan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		s := w.snapshot()
		w.branch = apply(w.branch, bundle.Build(s, nil, nil))
		before := recorded(publishedOf(t, w, s))
		broken := w.clone()
		broken.spoil(t, rapid.SampledFrom(documents[:len(documents)-1]).Draw(t, "document"))
		for _, files := range []map[string]string{broken.files, w.files} {
			broken.files = files
			now := broken.snapshot()
			broken.branch = apply(broken.branch, bundle.Build(now, publishedOf(t, broken, now), nil))
		}
		after := recorded(publishedOf(t, broken, s))
		maps.DeleteFunc(after, func(name string, _ holding) bool { _, known := before[name]; return !known })
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("mended, the branch differs (-before +after):\n%s", diff)
		}
	})
}

func TestNothingIsNoFailure(t *testing.T) {
	empty := &fleet.Snapshot{}
	b := bundle.Build(empty, nil, nil)
	b = bundle.Build(empty, &bundle.Published{}, b)
	if got := fmt.Sprint(b.Count(), len(b.Changes()), len(b.Folders), b.Published().Count()); got != "0 0 0 0" {
		t.Errorf("counts %s", got)
	}
	if _, found := b.Assignment("one", "target"); found {
		t.Error("there is an assignment")
	}
	var none *bundle.Published
	if _, err := none.Read("file"); err == nil {
		t.Error("a file was read of a branch that holds nothing")
	}
}

func changed(changes []bundle.Change) []string {
	names := map[string]bool{}
	for _, c := range changes {
		names[c.Path] = true
	}
	return slices.Sorted(maps.Keys(names))
}
