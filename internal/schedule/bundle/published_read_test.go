package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// written returns the files of a branch with cluster types, targets on each, and their inventories.
func written(environment string, clusterTypes, targets int) map[string]string {
	branch := map[string]string{"README.md": "all\n", TrackingPath: "abc\n"}
	for c := range clusterTypes {
		f := &Folder{Name: fmt.Sprintf("type-%d", c), ClusterType: fmt.Sprintf("type-%d", c)}
		readme := "of " + f.Name
		branch[f.Name+"/README.md"] = readme
		f.Readme = NewFile(f.Name+"/README.md", []byte(readme))
		sources := newSources(func() []fleet.Ref {
			return []fleet.Ref{{Kind: "ConfigMap", Name: "base"}, {Kind: "Template", Name: "flux"}}
		})
		for t := range targets {
			a := Assignment{
				ClusterType: f.ClusterType, Target: fmt.Sprintf("target-%02d", t), Workload: "shop", Workspace: "team", Registration: "reg",
				Policies: []string{"all", "some"}, Sources: sources,
			}
			for _, name := range []string{namespaceName, configYAMLName, reconcilerName} {
				content := fmt.Sprintf("kind: %s\nname: %d-%d\n", name, c, t)
				at := f.Name + "/" + a.Target + "/" + name
				branch[at] = content
				a.Files = append(a.Files, NewFile(at, []byte(content)))
			}
			sortFiles(a.Files)
			f.Assignments = append(f.Assignments, a)
		}
		branch[inventoryPath("", f.Name)] = string(encodeInventory(environment, f))
	}
	return branch
}

// shelf lists the trees of branches by ID, like a repository, and counts how many.
type shelf struct {
	mu    sync.Mutex
	trees map[Hash][]TreeEntry
	reads int
}

func (s *shelf) branch(files map[string]string) Branch {
	var all []File
	for path, content := range files {
		all = append(all, NewFile(path, []byte(content)))
	}
	top := TreeOf(all)
	s.put(top)
	return Branch{Top: NewTree(top.id), List: s.list, Read: func(path string) ([]byte, error) { return []byte(files[path]), nil }}
}

func (s *shelf) put(t *Tree) {
	if s.trees == nil {
		s.trees = map[Hash][]TreeEntry{}
	}
	s.trees[t.id] = t.entries
	for _, e := range t.entries {
		if e.Tree != nil {
			s.put(e.Tree)
		}
	}
}

func (s *shelf) list(id Hash) ([]TreeEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	entries := slices.Clone(s.trees[id])
	for i, e := range entries {
		if e.Tree != nil {
			entries[i].Tree = NewTree(e.Hash)
		}
	}
	return entries, nil
}

// describe returns everything that builds and plans use of what is published.
func describe(p *Published) string {
	var b strings.Builder
	for _, f := range p.Folders {
		fmt.Fprintf(&b, "%s %s %q %v %v %v %t %v %v\n", f.Name, f.ClusterType, f.Cluster, f.Readme, f.Inventory, f.drift, f.adopted, f.environment, p.digestOf(f.Name))
		for _, at := range slices.Sorted(maps.Keys(f.drifted)) {
			fmt.Fprintf(&b, "  %s was %s\n", at, f.drifted[at])
		}
		for _, a := range f.Assignments {
			fmt.Fprintf(&b, "  %s %s %s %s %s %v", a.Folder(), a.Target, a.Workload, a.Workspace, a.Registration, a.Policies)
			if a.Sources != nil {
				fmt.Fprintf(&b, " %s %v", a.Sources.id, a.Sources.Refs())
			}
			fmt.Fprintf(&b, " %v\n", a.Files)
		}
	}
	fmt.Fprintln(&b, p.Drift, p.Added, p.Promoted, p.elsewhere, p.tracking, slices.Sorted(maps.Keys(p.owners)))
	for _, problem := range p.Problems {
		fmt.Fprintln(&b, problem)
	}
	for _, at := range p.paths.Sorted() {
		hash, ok := p.Hash(at)
		fmt.Fprintln(&b, at, hash, ok)
	}
	return b.String()
}

// However a branch changes, what is read with knowledge of its earlier state is what is read without.
func TestReadingChangesProperty(t *testing.T) {
	contents := rapid.SampledFrom([]string{"", "changed", "kind: x\n", "{}"})
	environment := rapid.SampledFrom([]string{"dev", "stage", "gone", ""})
	exists := func(name string) bool { return name != "gone" }
	clusterTypes := []string{"type-0", "type-1", "type-9", fleet.ClustersFolder}
	rapid.Check(t, func(rt *rapid.T) {
		s := &shelf{}
		files := written(environment.Draw(rt, "environment"), 2, 3)
		maps.Copy(files, map[string]string{"other/.kalypso/inventory/x.json": `{"environment": "stage"}`, "type-9/target/namespace.yaml": "adopted"})
		var before *Published
		for range rapid.IntRange(2, 4).Draw(rt, "states") {
			branch := s.branch(files)
			want, err := ReadPublished(branch, "dev", clusterTypes[:3], exists)
			if err != nil {
				rt.Fatal(err)
			}
			branch = s.branch(files)
			branch.Before = before
			got, err := ReadPublished(branch, "dev", clusterTypes[:3], exists)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := gocmp.Diff(describe(want), describe(got)); diff != "" {
				rt.Fatal(diff)
			}
			before = got
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				switch at := rapid.SampledFrom(slices.Sorted(maps.Keys(files))).Draw(rt, "path"); rapid.IntRange(0, 4).Draw(rt, "change") {
				case 0:
					delete(files, at)
				case 1:
					files[at] = contents.Draw(rt, "content")
				case 2:
					files[at+"-beside"] = contents.Draw(rt, "content")
				case 3:
					delete(files, at)
					files[at+"/below"] = contents.Draw(rt, "content")
				case 4:
					again := written(environment.Draw(rt, "environment"), 2, rapid.IntRange(1, 4).Draw(rt, "targets"))
					maps.Copy(files, again)
				}
			}
			for at := range files { // no file is where another one needs a folder
				for other := range files {
					if strings.HasPrefix(other, at+"/") {
						delete(files, at)
					}
				}
			}
		}
	})
}

// Folders of assignments are not listed if they have the files in the inventory, and nothing is that was the same before.
func TestReadsOnlyWhatIsNotKnown(t *testing.T) {
	s, files := &shelf{}, written("dev", 3, 50)
	read := func(before *Published, want int) *Published {
		t.Helper()
		branch := s.branch(files)
		branch.Before, s.reads = before, 0
		p, err := ReadPublished(branch, "dev", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.reads != want {
			t.Errorf("%d folders were listed, not %d", s.reads, want)
		}
		return p
	}
	const top, inventories, tracking = 1, 2, 2
	first := read(nil, top+inventories+tracking+3)
	if len(first.Folders) != 3 || len(first.Folders[0].Assignments) != 50 || len(first.Drift) > 0 {
		t.Errorf("got %d folders with drift %v", len(first.Folders), first.Drift)
	}
	again := read(first, top)
	if again.Folders[1] != first.Folders[1] {
		t.Error("the same folder was read again")
	}
	files["type-1/target-07/notes.txt"] = "mine"
	files["type-1/target-08/namespace.yaml"] = "changed by hand"
	changed := read(again, top+1+2)
	if changed.Folders[0] != first.Folders[0] || len(changed.Drift) != 1 || changed.branch.Before != nil {
		t.Errorf("got drift %v", changed.Drift)
	}
}

// Trees that describe more files than any branch has, or endless depth, are refused.
func TestHostileTreesOfABranch(t *testing.T) {
	id := func(n int) Hash { return Hash{byte(n >> 8), byte(n), 1} }
	for name, list := range map[string]func(of Hash) ([]TreeEntry, error){
		"a bomb": func(of Hash) ([]TreeEntry, error) {
			next := id(int(of[1]) + 1)
			entries := make([]TreeEntry, 1000)
			for i := range entries {
				entries[i] = TreeEntry{Name: fmt.Sprintf("%03d", i), Hash: next}
				if next != id(5) {
					entries[i].Tree = NewTree(next)
				}
			}
			return entries, nil
		},
		"endless": func(of Hash) ([]TreeEntry, error) {
			return []TreeEntry{{Name: "a", Hash: of, Tree: NewTree(of)}}, nil
		},
	} {
		branch := Branch{Top: NewTree(id(0)), List: list, Read: func(string) ([]byte, error) { return nil, nil }}
		if _, err := ReadPublished(branch, "dev", nil, nil); err == nil || !strings.Contains(err.Error(), "levels") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzScanInventory checks that the fast decoder reads what encoding/json reads, or nothing.
func FuzzScanInventory(f *testing.F) {
	for at, content := range written("dev", 1, 2) {
		if strings.HasPrefix(at, inventoryFolder) {
			f.Add(content)
			if _, ok := scanInventory([]byte(content), newNames()); !ok {
				f.Errorf("an inventory of this program is not scanned: %s", content)
			}
		}
	}
	f.Add("{\n  \"version\": 1,\n  \"environment\": \"\",\n  \"cluster\": \"c\",\n  \"clusterType\": \"t\",\n  \"readme\": \"\",\n  \"sources\": {\n  },\n  \"assignments\": {\n  }\n}\n")
	known := newNames()
	f.Fuzz(func(t *testing.T, content string) {
		got, ok := scanInventory([]byte(content), known)
		if !ok {
			return
		}
		var want inventory
		if err := json.Unmarshal([]byte(content), &want); err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		if diff := gocmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		if !slices.IsSortedFunc(got.Assignments, func(a, b inventoryAssignment) int { return cmp.Compare(a.Target, b.Target) }) {
			t.Error("not sorted")
		}
	})
}
