package kalypso

import (
	"go/ast"
	"os"
	"path"
	"regexp"
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

// rooms are the folders of internal/, in their one order: each imports only rooms below it.
// ARCHITECTURE.md lists them in the same order, with what each is for.
var rooms = []string{
	"sample",
	"importer",
	"cli",
	"serve",
	"operator",
	"plane",
	"repository",
	"agent",
	"hub",
	"notify",
	"deliver",
	"promote",
	"schedule",
	"ledger",
	"pullrequest",
	"forge",
	"solution",
	"check",
	"chart",
	"git",
	"fleet",
	"sqlfile",
	"text",
}

// maxRooms keeps the folder list readable: a new concept first looks for a room that it belongs to.
const maxRooms = 23

// layers is the dependency table. Rooms have one order; layers say what a package may do, wherever it lies:
// a pure core lies inside the room that it serves. Arrows go one way:
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
			"internal/fleet",
			"internal/schedule/placement", "internal/schedule/config", "internal/schedule/render", "internal/schedule/bundle", "internal/schedule/plan", "internal/schedule/placementdecision", "internal/schedule/pull",
			"internal/deliver/tree", "internal/notify/message", "internal/promote/decide", "internal/promote/comply", "internal/promote/measure",
			"internal/chart", "internal/check", "internal/importer", "internal/solution", "internal/text",
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
		// What several edges do, in the words of the flows, and the rules that all of those edges keep.
		name: "port", folders: []string{"internal/forge", "internal/ledger"},
		imports: []string{"core", "api"},
		forbids: []ban{
			{[]string{"os", "os/exec", "database/sql"}, "a port says what is meant; doing it is the work of its edges"},
		},
	},
	{
		name: "flow",
		folders: []string{
			"internal/pullrequest", "internal/schedule", "internal/deliver", "internal/promote", "internal/notify", "internal/hub", "internal/check/scanner",
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
			"internal/git", "internal/sqlfile", "internal/text/secret/secretfile", "internal/text/secret/known", "internal/text/outbound", "internal/chart/remote", "internal/chart/sandbox", "internal/agent/reconciler", "internal/agent/job", "internal/agent/secrets", "internal/hub/client", "internal/hub/resourcegraph", "internal/notify/send", "internal/promote/verify", "internal/check/scan/folder", "internal/solution/registry", "internal/cli/terminal",
			"internal/ledger/relational", "internal/ledger/sqlite", "internal/ledger/postgres", "internal/ledger/open",
			"internal/forge/github", "internal/forge/gitlab", "internal/forge/gitea", "internal/forge/azuredevops", "internal/forge/bitbucket",
			"internal/forge/bitbucketserver", "internal/forge/texts", "internal/forge/local",
			"internal/forge/rest", "internal/forge/transport", "internal/forge/connect",
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
		folders: []string{"internal/serve", "internal/operator", "internal/agent"},
		imports: []string{"flow", "port", "core", "api"},
	},
	{
		// What joins edges to flows, for commands and for the server that a command runs; plane joins them to one
		// control plane at work, and cli is what commands have in common.
		name: "adapter", folders: []string{"internal/plane", "internal/repository", "internal/cli"},
		imports: []string{"shell", "flow", "edge", "port", "core", "api"},
		forbids: []ban{
			{[]string{"os/exec", "net/http", "database/sql"}, "an adapter only translates; doing it is the work of edges"},
		},
	},
	{
		// Connects edges to one server, or to one tenant of the operator: the shell must not know them, and every command that runs a server runs the same one.
		name: "wiring", folders: []string{"internal/serve/wiring", "internal/operator/tenant"},
		imports: []string{"adapter", "shell", "flow", "edge", "port", "core", "api"},
		forbids: []ban{
			{[]string{"os/exec", "database/sql"}, "wiring only connects; doing it is the work of edges"},
			{[]string{"github.com/spf13/"}, "a server does not know that there is a command line"},
		},
	},
	{
		// Fleets to read and run that the program carries with it, and clusters that are only simulated.
		name: "sample", folders: []string{"internal/sample", "examples/hello-fleet"},
		imports: []string{"shell", "flow", "edge", "port", "core", "api"},
	},
	{
		name: "cmd", folders: []string{"cmd"},
		imports: []string{"adapter", "wiring", "shell", "flow", "edge", "port", "core", "sample", "api"},
	},
	{
		// Support for tests and examples: these folders, and every package whose name ends in "test".
		name: "support", folders: []string{"internal/fleet/largefleet", "examples"},
		imports: []string{"adapter", "shell", "flow", "edge", "port", "core", "sample", "api"},
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
	{ban{[]string{"os/exec"}, "programs are run where their errors and environment are handled: git, verifications, scans and schedulers that the operator allows, ourselves to render charts with limits, in tests PostgreSQL and the server of Git, and nothing else"}, []string{"internal/git", "internal/chart/sandbox", "internal/forge/local", "internal/promote/verify", "internal/ledger/postgrestest", "internal/serve/wiring/fleettest"}},
	// The local forge is a Git server: it works on the repositories that it keeps, not on somebody's.
	{
		ban{[]string{"github.com/go-git/"}, "repositories are read and written in one place, where credentials, damage and limits are handled"},
		[]string{"internal/git", "internal/forge/local"},
	},
	// Charts are programs of others. The engine in a process with limits is also what keeps Helm out of nearly all test binaries.
	{
		ban{[]string{module + "/internal/chart/engine"}, "charts are untrusted: package sandbox renders them in a process with limits; internal/chart has the values that go in and come out"},
		[]string{"internal/chart/sandbox", "internal/chart/charttest"},
	},
	{
		ban{[]string{"helm.sh/helm/", "sigs.k8s.io/kustomize/"}, "Helm and kustomize are the largest libraries; what others need of them is in internal/chart, without them"},
		[]string{"internal/chart/engine"},
	},
	{ban{[]string{"unsafe", "C"}, "the program builds without cgo and stays memory safe"}, nil},
}

// TestRooms holds the one order of the rooms, and that the folders, this table and ARCHITECTURE.md are the same list.
func TestRooms(t *testing.T) {
	if len(rooms) > maxRooms {
		t.Errorf("internal/ has %d rooms, at most %d are wanted", len(rooms), maxRooms)
	}
	entries, err := os.ReadDir("internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(rooms, e.Name()) {
			t.Errorf("internal/%s is in no order: add it to rooms in layers_test.go and to ARCHITECTURE.md", e.Name())
		}
	}
	for _, room := range rooms {
		if _, err := os.Stat(path.Join("internal", room)); err != nil {
			t.Errorf("the order of rooms names one that does not exist: %v", err)
		}
	}
	for _, p := range goPackages(t) {
		from := slices.Index(rooms, roomOf(p.folder))
		if from < 0 || layerOf(p).name == "support" {
			continue
		}
		for _, i := range p.imports() {
			folder, _ := strings.CutPrefix(i.path, module+"/")
			if to := slices.Index(rooms, roomOf(folder)); to >= 0 && to < from {
				t.Errorf("%s: room %s imports %q: room %s is above it", p.position(i.node), rooms[from], i.path, rooms[to])
			}
		}
	}
}

// TestArchitectureListsRooms in the order that the code has.
func TestArchitectureListsRooms(t *testing.T) {
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^  (\w+)/ `).FindAllStringSubmatch(readText(t, "ARCHITECTURE.md"), -1) {
		listed = append(listed, m[1])
	}
	if !slices.Equal(listed, rooms) {
		t.Errorf("ARCHITECTURE.md lists the rooms %q, the order is %q", listed, rooms)
	}
}

// roomOf returns the room that a folder is in or below; empty for one outside internal.
func roomOf(folder string) string {
	below, inside := strings.CutPrefix(folder, "internal/")
	if !inside {
		return ""
	}
	room, _, _ := strings.Cut(below, "/")
	return room
}

// TestLayersExist: the table names only folders that exist.
func TestLayersExist(t *testing.T) {
	folders := func(list []string) {
		for _, f := range list {
			if _, err := os.Stat(f); strings.Contains(f, "/") && err != nil {
				t.Errorf("the table names %s: %v", f, err)
			}
		}
	}
	for _, l := range layers {
		folders(l.folders)
	}
	for _, b := range bannedEverywhere {
		folders(b.but)
	}
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
		{"internal/fleet", module + "/internal/fleet/largefleet", false},
		{"internal/schedule/render", module + "/internal/fleet", true},
		{"internal/schedule", module + "/internal/git", false},
		{"internal/schedule/placement", "context", false},
		{"internal/schedule", "context", true},
		{"internal/chart/sandbox", "os/exec", true},
		{"internal/chart", "os/exec", false},
		{"internal/schedule", module + "/internal/schedule/plan", true},
		{"internal/git", module + "/internal/schedule", false},
		{"internal/git", "os/exec", true},
		{"cmd/kalypso", module + "/internal/git", true},
		{"cmd/kalypso", "github.com/go-git/go-git/v5/config", false},
		{"internal/git", "github.com/go-git/go-git/v5/config", true},
		{"internal/forge/gitea", "github.com/go-git/go-git/v5", false},
		{"cmd/kalypso", module + "/internal/forge/forgetest", false},
		{"cmd/kalypso", "os/exec", false},
		{"internal/forge/forgetest", "testing", true},
		{"internal/serve", module + "/internal/ledger", true},
		{"internal/serve", module + "/internal/ledger/sqlite", false},
		{"internal/serve", module + "/internal/serve/wiring", false},
		{"internal/serve/wiring", module + "/internal/forge/github", true},
		{"internal/serve/wiring", "github.com/spf13/cobra", false},
		{"internal/ledger", module + "/internal/ledger/sqlite", false},
		{"internal/ledger", "database/sql", false},
		{"examples/large-fleet", module + "/internal/fleet/largefleet", true},
	} {
		p := &goPackage{folder: tc.folder, name: path.Base(tc.folder)}
		if reasons := objections(p, layerOf(p), tc.imports); (len(reasons) == 0) != tc.ok {
			t.Errorf("%s imports %s: got %q, want ok=%v", tc.folder, tc.imports, reasons, tc.ok)
		}
	}
}
