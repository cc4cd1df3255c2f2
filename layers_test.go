package kalypso

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kalypso-io/kalypso"

// layer is a set of folders that may import the same things.
type layer struct {
	name    string
	folders []string // with everything below them; the longest match counts
	imports []string // the layers it may import, beside its own
	forbids []ban
}

// ban is a set of packages that a layer must not import, and why.
type ban struct {
	paths []string // one that ends in a slash stands for everything below
	why   string
}

// layers is the dependency table. Arrows go one way:
//
//	cmd -> shell -> flow -> port -> core -> api
//	cmd -> edge  -> port
//	cmd -> adapter -> flow and edge
var layers = []layer{
	{
		name: "api", folders: []string{"api"},
	},
	{
		name: "core",
		folders: []string{
			"internal/fleet", "internal/placement", "internal/config", "internal/render", "internal/bundle", "internal/plan",
			"internal/chart", "internal/check", "internal/scan", "internal/schemas", "internal/compliance", "internal/promotion", "internal/secret", "internal/visible", "internal/markdown",
		},
		imports: []string{"api"},
		forbids: []ban{
			{[]string{"os", "os/exec", "os/user", "syscall", "io/ioutil"}, "the same commits make the same bytes, on any machine: files come in as bytes"},
			{[]string{"net", "net/http", "database/sql", "github.com/go-git/", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime/"}, "reading the world is the work of an edge"},
			{[]string{"context", "log", "log/slog"}, "a function without a context does no I/O; what is to be said is a value that is returned"},
			{[]string{"math/rand", "math/rand/v2", "crypto/rand"}, "the same commits make the same bytes: ids are arguments"},
			{[]string{"github.com/spf13/"}, "the core does not know that there is a command line"},
		},
	},
	{
		// The words in which flows speak with what several edges do, and the rules that all of those keep.
		name: "port", folders: []string{"internal/forge", "internal/ledger"},
		imports: []string{"core", "api"},
		forbids: []ban{
			{[]string{"os", "os/exec", "database/sql"}, "a port says what is meant; doing it is the work of its edges"},
		},
	},
	{
		name: "flow",
		folders: []string{
			"internal/proposing", "internal/scheduling", "internal/delivery", "internal/promoting", "internal/reporting", "internal/recording", "internal/observing", "internal/scanning",
		},
		imports: []string{"port", "core", "api"},
		forbids: []ban{
			{[]string{"os/exec", "net/http", "database/sql", "github.com/go-git/", "k8s.io/client-go/"}, "a flow reaches the world through interfaces that it declares itself"},
			{[]string{"github.com/spf13/"}, "a flow does not know that there is a command line"},
		},
	},
	{
		name: "edge",
		folders: []string{
			"internal/git", "internal/chartrepo", "internal/sandbox", "internal/cluster", "internal/client", "internal/verify", "internal/scan/folder", "internal/filelock", "internal/terminal",
			"internal/ledger/relational", "internal/ledger/sqlite", "internal/ledger/postgres",
			"internal/forge/github", "internal/forge/gitlab", "internal/forge/gitea", "internal/forge/azuredevops", "internal/forge/local",
			"internal/forge/rest", "internal/forge/transport",
		},
		imports: []string{"port", "core", "api"},
		forbids: []ban{
			{[]string{"github.com/spf13/"}, "an edge does not know that there is a command line"},
		},
	},
	{
		// What runs on and on: it waits for the world, and calls flows. The agent has none to call: it passes on what
		// the cluster says, and reaches the cluster through an interface, as it would be any other edge.
		name:    "shell",
		folders: []string{"internal/operator", "internal/server", "internal/web", "internal/agent"},
		imports: []string{"flow", "port", "core", "api"},
	},
	{
		// What joins edges to flows, for commands and for the server that a command runs; cli is what commands have in common.
		name: "adapter", folders: []string{"internal/answer", "internal/repository", "internal/asking", "internal/cli"},
		imports: []string{"shell", "flow", "edge", "port", "core", "api"},
		forbids: []ban{
			{[]string{"os/exec", "net/http", "database/sql"}, "an adapter only translates; doing it is the work of edges"},
		},
	},
	{
		// Fleets to read and run that the program carries with it, and clusters that are only simulated.
		name: "sample", folders: []string{"internal/sample", "internal/simulation", "internal/scaffold", "examples/hello-fleet"},
		imports: []string{"shell", "flow", "edge", "port", "core", "api"},
	},
	{
		name: "cmd", folders: []string{"cmd"},
		imports: []string{"adapter", "shell", "flow", "edge", "port", "core", "sample", "api"},
	},
	{
		// Support for tests and examples: these folders, and every package whose name ends in "test".
		name: "support", folders: []string{"internal/largefleet", "examples"},
		imports: []string{"shell", "flow", "edge", "port", "core", "sample", "api"},
	},
	{
		name: "root", folders: []string{"."},
	},
}

// bannedEverywhere holds for every package but those named: folders, with everything below them, and layers.
var bannedEverywhere = []struct {
	ban
	but []string
}{
	{ban{[]string{"testing"}, "a program does not carry its tests"}, []string{"support"}},
	{ban{[]string{"os/exec"}, "programs are run where their errors and environment are handled: git, verifications and scans that the operator allows, ourselves to render charts with limits, in tests PostgreSQL, and nothing else"}, []string{"internal/git", "internal/sandbox", "internal/forge/local", "internal/verify", "internal/ledger/postgrestest"}},
	// The local forge is a Git server: it works on the repositories that it keeps, not on somebody's.
	{
		ban{[]string{"github.com/go-git/"}, "repositories are read and written in one place, where credentials, damage and limits are handled"},
		[]string{"internal/git", "internal/forge/local"},
	},
	{ban{[]string{"unsafe", "C"}, "the program builds without cgo and stays memory safe"}, nil},
}

func TestLayers(t *testing.T) {
	for _, p := range goPackages(t) {
		from := layerOf(p)
		if from == nil {
			t.Errorf("%s is in no layer: add it to the table in layers_test.go", p.folder)
			continue
		}
		for _, i := range p.imports() {
			for _, reason := range objections(p, from, i.path) {
				t.Errorf("%s: %s imports %q: %s", p.position(i.node), from.name, i.path, reason)
			}
		}
	}
}

// objections says why a package of a layer must not import a path.
func objections(p *goPackage, from *layer, imported string) []string {
	var reasons []string
	for _, b := range from.forbids {
		if b.covers(imported) {
			reasons = append(reasons, b.why)
		}
	}
	for _, b := range bannedEverywhere {
		if b.covers(imported) && !p.isIn(b.but) && !slices.Contains(b.but, from.name) {
			reasons = append(reasons, b.why)
		}
	}
	if folder, ours := strings.CutPrefix(imported, module+"/"); ours {
		to := layerOf(&goPackage{folder: folder, name: path.Base(folder)})
		if to != nil && to.name != from.name && !slices.Contains(from.imports, to.name) {
			reasons = append(reasons, from.name+" must not import "+to.name+"; arrows go cmd -> shell -> flow -> port -> core -> api and cmd -> edge -> port")
		}
	}
	return reasons
}

// isIn reports whether a package is one of some folders, or below one.
func (p *goPackage) isIn(folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return p.folder == f || strings.HasPrefix(p.folder, f+"/") })
}

func (b ban) covers(imported string) bool {
	return slices.ContainsFunc(b.paths, func(p string) bool {
		return imported == p || strings.HasSuffix(p, "/") && strings.HasPrefix(imported, p)
	})
}

func layerOf(p *goPackage) *layer {
	name, longest := "", -1
	for _, l := range layers {
		for _, folder := range l.folders {
			if p.isIn([]string{folder}) && len(folder) > longest {
				name, longest = l.name, len(folder)
			}
		}
	}
	if strings.HasSuffix(p.name, "test") && longest >= 0 {
		name = "support"
	}
	i := slices.IndexFunc(layers, func(l layer) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return &layers[i]
}

// clock are the functions of package time that look at the clock or wait. Durations and times are values like any other.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// TestCoreHasNoClock: time is an argument there, or two runs on the same commits could differ.
func TestCoreHasNoClock(t *testing.T) {
	for _, p := range goPackages(t) {
		if l := layerOf(p); l == nil || l.name != "core" {
			continue
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if selector, ok := n.(*ast.SelectorExpr); ok && isClock(selector) {
					t.Errorf("%s: time.%s in the core: time is an argument", p.position(n), selector.Sel.Name)
				}
				return true
			})
		}
	}
}

func isClock(s *ast.SelectorExpr) bool {
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "time" && slices.Contains(clock, s.Sel.Name)
}

// TestLayersObject shows that the table can say no.
func TestLayersObject(t *testing.T) {
	for _, tc := range []struct {
		folder, imports string
		ok              bool
	}{
		{"internal/fleet", "os", false},
		{"internal/fleet", "net/url", true},
		{"internal/fleet", module + "/internal/git", false},
		{"internal/fleet", module + "/internal/largefleet", false},
		{"internal/render", module + "/internal/fleet", true},
		{"internal/scheduling", module + "/internal/git", false},
		{"internal/scheduling", module + "/internal/plan", true},
		{"internal/git", module + "/internal/scheduling", false},
		{"internal/git", "os/exec", true},
		{"cmd/kalypso", module + "/internal/git", true},
		{"cmd/kalypso", "github.com/go-git/go-git/v5/config", false},
		{"internal/git", "github.com/go-git/go-git/v5/config", true},
		{"internal/forge/gitea", "github.com/go-git/go-git/v5", false},
		{"cmd/kalypso", module + "/internal/forge/forgetest", false},
		{"cmd/kalypso", "os/exec", false},
		{"internal/forge/forgetest", "testing", true},
		{"internal/server", module + "/internal/ledger", true},
		{"internal/server", module + "/internal/ledger/sqlite", false},
		{"internal/ledger", module + "/internal/ledger/sqlite", false},
		{"internal/ledger", "database/sql", false},
		{"examples/large-fleet", module + "/internal/largefleet", true},
	} {
		p := &goPackage{folder: tc.folder, name: path.Base(tc.folder)}
		if reasons := objections(p, layerOf(p), tc.imports); (len(reasons) == 0) != tc.ok {
			t.Errorf("%s imports %s: got %q, want ok=%v", tc.folder, tc.imports, reasons, tc.ok)
		}
	}
}
