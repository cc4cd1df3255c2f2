package kalypso

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// outbound are the files that make clients and connections of their own, with how many, and what they reach. A client limits redirects,
// sizes and time, reaches permitted addresses only if users choose them, and hides the credential that it sends from what comes back.
var outbound = map[string]struct {
	uses  int
	reach string
}{
	"internal/chart/remote/index.go":          {1, "repositories of charts and registries, if the caller has no client"},
	"internal/forge/local/delivery.go":        {1, "webhooks of the embedded forge"},
	"internal/forge/transport/config.go":      {1, "forges that the operator configures"},
	"internal/forge/transport/transport.go":   {1, "forges that the operator configures"},
	"internal/git/connect.go":                 {4, "Git repositories, at no address of a link or of a metadata service"},
	"internal/hub/client/client.go":           {1, "a server of Kalypso that a user names"},
	"internal/hub/resourcegraph/client.go":    {2, "Azure"},
	"internal/notify/send/http.go":            {3, "receivers of messages, at permitted addresses"},
	"internal/promote/verify/client.go":       {3, "what applications name, at permitted addresses"},
	"internal/promote/verify/exchange.go":     {1, "schedulers that the operator configures, at permitted addresses"},
	"internal/promote/verify/http.go":         {3, "URLs of verifications, at permitted addresses"},
	"internal/promote/verify/prometheus.go":   {1, "Prometheus servers of verifications, at permitted addresses"},
	"internal/serve/access/signon.go":         {1, "the issuer that the operator configures"},
	"internal/serve/session/sign_on.go":       {1, "the issuer that the operator configures"},
	"internal/serve/wiring/publish.go":        {1, "the registry that the operator configures"},
	"internal/serve/wiring/replicas.go":       {2, "another replica"},
	"internal/serve/wiring/tracing.go":        {1, "the collector of traces that the operator configures"},
	"internal/serve/wiring/tracing_sender.go": {1, "the collector of traces that the operator configures"},
}

// connecting are the names that make a connection, or a client for one.
var connecting = map[string][]string{
	"http": {"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"},
	"net":  {"Dial", "DialTimeout", "DialTCP", "DialUDP"},
	"smtp": {"Dial", "SendMail"},
	"tls":  {"Dial", "DialWithDialer"},
}

// made are the types of clients: a literal of one is a new client.
var made = map[string][]string{"http": {"Client", "Transport"}, "net": {"Dialer"}, "tls": {"Dialer"}}

// TestOutboundConnections lists everything that reaches another machine. A new place has to be added here, with what it reaches, or better
// uses a client that is there: promote/verify has one for addresses that users choose.
func TestOutboundConnections(t *testing.T) {
	got := map[string]int{}
	for _, p := range goPackages(t) {
		if strings.HasSuffix(p.folder, "test") || strings.HasPrefix(p.folder, "e2e") || strings.HasPrefix(p.folder, "tools") {
			continue // fakes and suites
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if connects(n) {
					name, _, _ := strings.Cut(p.position(n), ":")
					got[name]++
				}
				return true
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want := outbound[name].uses; got[name] != want {
			t.Errorf("%s makes %d clients or connections, want %d: see outbound", name, got[name], want)
		}
	}
	for name, want := range outbound {
		if want.uses > 0 && got[name] == 0 {
			t.Errorf("%s makes no client or connection any more: remove it from outbound", name)
		}
	}
}

// connects reports whether an expression makes a connection, or a client.
func connects(n ast.Node) bool {
	names := connecting
	if literal, ok := n.(*ast.CompositeLit); ok {
		n, names = literal.Type, made
	}
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && slices.Contains(names[from.Name], selector.Sel.Name)
}
