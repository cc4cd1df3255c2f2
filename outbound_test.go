package kalypso

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// outbound is the one file that makes clients and connections, with how many. It limits redirects, sizes and time, reaches permitted addresses
// only, and hides the credential that it sends from what comes back.
var outbound = map[string]int{"internal/text/outbound/client.go": 4}

// connecting are the names that make a connection, or a client for one.
var connecting = map[string][]string{
	"http": {"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"},
	"net":  {"Dial", "DialTimeout", "DialTCP", "DialUDP"},
	"smtp": {"Dial", "SendMail"},
	"tls":  {"Dial", "DialWithDialer"},
}

// made are the types of clients. Each use of one is a new client, unless it is a pointer to one.
var made = map[string][]string{"http": {"Client", "Transport"}, "net": {"Dialer"}, "tls": {"Dialer"}}

// TestOutboundConnections: nothing else reaches another machine. Use a client of package outbound, or of promote/verify for addresses that users
// choose.
func TestOutboundConnections(t *testing.T) {
	got := map[string]int{}
	for _, p := range goPackages(t) {
		if strings.HasSuffix(p.folder, "test") || strings.HasPrefix(p.folder, "e2e") || strings.HasPrefix(p.folder, "tools") {
			continue // fakes and suites
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if pointer, ok := n.(*ast.StarExpr); ok && names(pointer.X, made) {
					return false
				}
				if names(n, connecting) || names(n, made) {
					name, _, _ := strings.Cut(p.position(n), ":")
					got[name]++
				}
				return true
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want := outbound[name]; got[name] != want {
			t.Errorf("%s makes %d clients or connections, want %d: use package outbound", name, got[name], want)
		}
	}
}

// names reports whether a node is one of some names of packages.
func names(n ast.Node, of map[string][]string) bool {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && slices.Contains(of[from.Name], selector.Sel.Name)
}
