package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// TestReadFiles covers files that text archives cannot represent: how they
// are reported, and which parts of them are used.
func TestReadFiles(t *testing.T) {
	const good = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: %s}\n"
	one := fmt.Sprintf(good, "one")
	unread := func() ([]byte, error) { t.Error("the content is read"); return nil, nil }
	tests := []struct {
		name  string
		file  fleet.File
		names []string
		want  string // severity, kind and place of the problem; if set, the file is unreadable
	}{
		{name: "byte order mark and Windows lines", file: fleettest.File("a.yaml", "\ufeff"+strings.ReplaceAll(one, "\n", "\r\n")), names: []string{"one"}},
		{name: "no line at the end", file: fleettest.File("a.yaml", strings.TrimSuffix(one, "\n")), names: []string{"one"}},
		{name: "ends of documents", file: fleettest.File("a.yaml", one+"...\n"+fmt.Sprintf(good, "two")), names: []string{"one", "two"}},
		{name: "directives", file: fleettest.File("a.yaml", "%YAML 1.1\n---\n"+one), names: []string{"one"}},
		{name: "marker in a text", file: fleettest.File("a.yaml", "key: |\n  a\n  ---\n  b\n---\n"+one+"# ---\n"), names: []string{"one"}},
		{name: "not UTF-8", file: fleettest.File("a.yaml", one+"# \xff"), want: "error not-utf8 a.yaml:4"},
		{name: "UTF-16", file: fleettest.File("a.yaml", "\xff\xfek\x00"), want: "error not-utf8 a.yaml:1"},
		{name: "NUL", file: fleettest.File("a.yaml", one+"---\nkey: \x00"), names: []string{"one"}, want: "error yaml-syntax a.yaml:4"},
		{name: "large", file: fleet.File{Path: "a.yaml", Size: fleet.MaxFileSize + 1, Read: unread}, want: "error file-too-large a.yaml"},
		{name: "larger than it says", file: file5MiB(), want: "error file-too-large a.yaml"},
		{name: "symbolic link", file: fleet.File{Path: "a.yaml", Symlink: true, Read: unread}, want: "warning symlink a.yaml"},
		{name: "unreachable", file: fleet.File{Path: "a.yaml", Read: func() ([]byte, error) { return nil, errors.New("gone") }}, want: "error unreachable a.yaml"},
		{name: "many documents", file: fleettest.File("a.yaml", strings.Repeat("a: b\n---\n", fleet.MaxDocuments+5)), want: "error yaml-bounds a.yaml:20000"},
		{name: "many documents behind a directive", file: fleettest.File("a.yaml", "%YAML 1.1\n---\n"+strings.Repeat("a: b\n---\n", fleet.MaxDocuments+5)), want: "error yaml-bounds a.yaml:20003"},
		{name: "many elements of lists", file: fleettest.File("a.yaml", "apiVersion: v1\nkind: List\nitems:\n"+strings.Repeat("- {}\n", fleet.MaxDocuments+5)), want: "error yaml-bounds a.yaml:10003"},
		{name: "deep", file: fleettest.File("a.yaml", strings.Repeat("[", 20_000)), want: "error yaml-syntax a.yaml:1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := fleet.Read(nil, fleet.Source{Name: "main", Files: []fleet.File{test.file}})
			var names []string
			for _, ct := range o.ClusterTypes {
				names = append(names, ct.Value.Name)
			}
			if diff := cmp.Diff(test.names, names); diff != "" {
				t.Errorf("cluster types (-want +got):\n%s", diff)
			}
			var got []string
			for _, p := range o.Problems {
				got = append(got, fmt.Sprintf("%s %s %s", p.Severity, p.Kind, p.Position))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if unreadable := len(o.Unreadable) > 0 && o.Unreadable[0].Ref == (fleet.Ref{}); unreadable != (test.want != "") {
				t.Errorf("unreadable: %v", o.Unreadable)
			}
		})
	}
}

func file5MiB() fleet.File {
	f := fleettest.File("a.yaml", strings.Repeat("# comment\n", fleet.MaxFileSize/10+1))
	f.Size = 10
	return f
}

// TestCache reads a source again after one of its files changed.
func TestCache(t *testing.T) {
	var reads atomic.Int64
	counted := func(f fleet.File) fleet.File {
		read := f.Read
		f.Read = func() ([]byte, error) { reads.Add(1); return read() }
		return f
	}
	source := controlPlane(1, 3)
	for i, f := range source.Files {
		source.Files[i] = counted(f)
	}
	var cache fleet.Cache
	first := fleet.Read(&cache, source)
	if got, want := reads.Swap(0), int64(len(source.Files)); got != want {
		t.Errorf("read %d files at first, want %d", got, want)
	}

	changed := source.Files[0].Path
	source.Files[0] = counted(fleettest.File(changed, "# changed\n"))
	source.Name = "another"
	second := fleet.Read(&cache, source)
	if got := reads.Load(); got != 1 {
		t.Errorf("read %d files after one changed, want 1", got)
	}
	for _, c := range append(first.Configs, second.Configs...) {
		if want := map[bool]string{true: "dev", false: "another"}[slices.Contains(first.Configs, c)]; c.Position.Source != want {
			t.Errorf("%s has the position %+v, want source %s", c.Name, c.Position, want)
		}
	}
}

// TestCacheForgetsFailures reads a file again that could not be read before.
func TestCacheForgetsFailures(t *testing.T) {
	good := fleettest.File("a.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: one}\n")
	bad := good
	bad.Read = func() ([]byte, error) { return nil, errors.New("gone") }
	var cache fleet.Cache
	fleet.Read(&cache, fleet.Source{Files: []fleet.File{bad}})
	if o := fleet.Read(&cache, fleet.Source{Files: []fleet.File{good}}); len(o.ClusterTypes) != 1 || len(o.Unreadable) != 0 {
		t.Errorf("got %d cluster types, unreadable %v", len(o.ClusterTypes), o.Unreadable)
	}
}

// TestDigest checks which differences change digests, and that a document
// keeps its digest when another one in its file changes.
func TestDigest(t *testing.T) {
	const document = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: one}\nspec: {reconciler: %s}\n---\n"
	digest := func(source, path, text string) fleet.Digest {
		o := fleet.Read(nil, fleettest.Source(source, map[string]string{path: text}))
		return o.ClusterTypes[0].Digest
	}
	flux := fmt.Sprintf(document, "flux")
	base := digest("dev", "a.yaml", flux+"# below")
	if digest("dev", "a.yaml", flux+"# changed") != base {
		t.Error("what is written below a document changes its digest")
	}
	for name, other := range map[string]fleet.Digest{
		"content": digest("dev", "a.yaml", fmt.Sprintf(document, "argocd")+"# below"),
		"source":  digest("stage", "a.yaml", flux+"# below"),
		"path":    digest("dev", "b.yaml", flux+"# below"),
		"line":    digest("dev", "a.yaml", "---\n"+flux+"# below"),
	} {
		if other == base {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// TestUnreachable checks that an unreachable repository is reported with the reason, where it is referred to, and
// that nothing is removed.
func TestUnreachable(t *testing.T) {
	in := fleettest.Inputs("dev", map[string]string{
		"main/app.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: app}\nspec: {workload: {repo: r}}\n",
		"env/repo.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigRepo\nmetadata: {name: more}\nspec: {repo: r}\n",
	})
	in.Workloads["app"] = fleet.Fetched{Err: errors.New("no route")}
	in.ConfigRepos["more"] = fleet.Fetched{Err: errors.New("no key")}
	s := fleet.Assemble(in)
	for _, want := range []fleet.Problem{
		{Object: fleet.Ref{Kind: "WorkloadRegistration", Name: "app"}, Position: fleet.Position{Source: "main", File: "app.yaml", Line: 1}, Message: "no route"},
		{Object: fleet.Ref{Kind: "ConfigRepo", Name: "more"}, Position: fleet.Position{Source: "dev", File: "repo.yaml", Line: 1}, Message: "no key"},
	} {
		want.Severity, want.Kind = fleet.SeverityError, fleet.KindUnreachable
		if !slices.Contains(s.Problems, want) {
			t.Errorf("no %+v in %+v", want, s.Problems)
		}
	}
	want := []fleet.Unreadable{
		{Position: fleet.Position{Source: "dev", File: "repo.yaml", Line: 1}, NoTemplate: true},
		{
			Ref: fleet.Ref{Kind: "WorkloadRegistration", Name: "app"}, Owner: fleet.Owner{Registration: "app"},
			Position: fleet.Position{Source: "main", File: "app.yaml", Line: 1},
		},
	}
	if diff := cmp.Diff(want, s.Unreadable); diff != "" {
		t.Errorf("unreadable (-want +got):\n%s", diff)
	}
}

// TestMappedWorkload checks that a Workload in the control plane is found by the repository that was fetched, even if
// the registration's URL differs.
func TestMappedWorkload(t *testing.T) {
	workload := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: app}\nspec: {deploymentTargets: []}\n"
	in := fleettest.Inputs("dev", map[string]string{
		"main/app.yaml":               "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: app}\nspec: {workload: {repo: elsewhere, path: apps}}\n",
		"main/apps/workload.yaml":     workload,
		"workloads/app/workload.yaml": workload,
	})
	warned := func() bool {
		return slices.ContainsFunc(fleet.Assemble(in).Problems, func(p fleet.Problem) bool { return p.Kind == fleet.KindWrongBranch })
	}
	if !warned() {
		t.Error("no warning of a Workload that no registration leads to")
	}
	in.Workloads["app"].Objects.Source.Repo = in.Main.Source.Repo
	if warned() {
		t.Error("a warning of a Workload that a mapped registration leads to")
	}
}

// TestManyProblems checks that a document with too many problems does not take longer than others.
func TestManyProblems(t *testing.T) {
	text := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: one}\nspec:\n"
	var b strings.Builder
	for i := range 10 * fleet.MaxProblems {
		fmt.Fprintf(&b, "  unknown%d: x\n", i)
	}
	o := fleet.Read(nil, fleettest.Source("dev", map[string]string{"a.yaml": text + b.String()}))
	if len(o.Problems) != fleet.MaxProblems || len(o.ClusterTypes) != 1 {
		t.Errorf("got %d problems and %d cluster types", len(o.Problems), len(o.ClusterTypes))
	}
}

// TestNoSources assembles an environment without any sources.
func TestNoSources(t *testing.T) {
	s := fleet.Assemble(fleet.Inputs{Environment: "dev"})
	if len(s.Problems) != 1 || s.Problems[0].Kind != fleet.KindMissingObject {
		t.Errorf("got problems %+v, want that there is no GitOpsRepo", s.Problems)
	}
}

func TestBaseRepo(t *testing.T) {
	document := func(name string) string {
		return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: " + name + "}\nspec: {repo: r}\n---\n"
	}
	o := fleet.Read(nil, fleettest.Source("dev", map[string]string{"a.yaml": document("main") + document("trunk") + document("a")}))
	for branch, want := range map[string]string{"trunk": "trunk", "main": "main", "master": "main", "": "main"} {
		if base, _, ok := o.BaseRepo(branch); !ok || base.Name != want {
			t.Errorf("BaseRepo(%q) = %v, %t, want %s", branch, base, ok, want)
		}
	}
	if _, _, ok := (&fleet.Objects{}).BaseRepo("main"); ok {
		t.Error("no objects have a BaseRepo")
	}
}

// What the files of one source have together is bounded, in the order of their paths. The first file beyond is named, nothing of it and of
// those after it is known, and the others are used.
func TestFilesAreBoundedTogether(t *testing.T) {
	types := func(names ...string) string {
		var b strings.Builder
		for _, name := range names {
			fmt.Fprintf(&b, "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: %s}\n", name)
		}
		return b.String()
	}
	size := len(types("a1", "a2"))
	for name, budget := range map[string]fleet.Budget{
		"bytes":     {Bytes: 2*size + 1, Documents: 100},
		"documents": {Bytes: 100 * size, Documents: 5},
	} {
		source := fleet.Source{Name: "main", Budget: budget}
		for _, letter := range []string{"d", "c", "b", "a"} {
			source.Files = append(source.Files, fleettest.File(letter+".yaml", types(letter+"1", letter+"2")))
		}
		for range 2 { // the second time from the cache
			cache := &fleet.Cache{}
			o := fleet.Read(cache, source)
			var names, unknown []string
			for _, ct := range o.ClusterTypes {
				names = append(names, ct.Value.Name)
			}
			for _, u := range o.Unreadable {
				unknown = append(unknown, fmt.Sprint(u.Ref, u.Position.File))
			}
			if diff := cmp.Diff([]string{"a1", "a2", "b1", "b2"}, names); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if diff := cmp.Diff([]string{fmt.Sprint(fleet.Ref{}, "c.yaml"), fmt.Sprint(fleet.Ref{}, "d.yaml")}, unknown); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if len(o.Problems) != 1 || o.Problems[0].Kind != fleet.KindRepositoryTooLarge || o.Problems[0].Position.File != "c.yaml" {
				t.Errorf("%s: %v", name, o.Problems)
			}
		}
	}
}

// A repository can have one file many times in a few kilobytes.
func TestTheSameFileManyTimesIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: w%d}\n", i)
	}
	file, reads := fleettest.File("a.yaml", b.String()), atomic.Int64{}
	source := fleet.Source{Name: "team"}
	for i := range 500 {
		f := file
		f.Path = fmt.Sprintf("%03d.yaml", i)
		f.Read = func() ([]byte, error) { reads.Add(1); return file.Read() }
		source.Files = append(source.Files, f)
	}
	source = source.OfApplication()
	o := fleet.Read(&fleet.Cache{}, source)
	if n := len(o.Unreadable); n < 450 || !slices.ContainsFunc(o.Problems, func(p fleet.Problem) bool {
		return p.Kind == fleet.KindRepositoryTooLarge && p.Position.File == "050.yaml" && strings.Contains(p.Message, "nor the 449 files after it")
	}) {
		t.Errorf("%d files are unreadable", n)
	}
	if reads.Load() > 64 {
		t.Errorf("the file was read %d times", reads.Load())
	}
}
