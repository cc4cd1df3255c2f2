package verify

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/linklocal"
)

// private holds addresses that are private in addition to those of [netip.Addr.IsPrivate].
var private = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers, and used by many clusters
	netip.MustParsePrefix("198.18.0.0/15"), // for benchmarks
	netip.MustParsePrefix("64:ff9b::/96"),  // any IPv4 address through NAT64
	netip.MustParsePrefix("2002::/16"),     // any IPv4 address through 6to4
}

// Permit returns why a host must not be reached at an address with a port, or nil. Call it after names are resolved.
// It is exported for other requests to URLs that users configure who do not operate the server.
func (r *Runner) Permit(host, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address", address)
	}
	ip := at.Addr().Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(ip) }
	byName, byAddress := r.lists(host), r.lists(ip.String())
	what, allowed := "", byAddress
	switch {
	case linklocal.Describe(ip) != "":
		what = linklocal.Describe(ip)
	case ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		what, allowed = "of many machines", false
	case ip.IsLoopback() || ip.IsUnspecified():
		what, allowed = "this machine's own", byName || byAddress
	case ip.IsPrivate() || slices.ContainsFunc(private, contains):
		what, allowed = "private", byName || byAddress
	default:
		return nil
	}
	if allowed {
		return nil
	}
	return fmt.Errorf("the address %s is %s; the operator of the server can allow it in verify.hosts", ip, what)
}

// lists reports whether the operator allowed a host.
func (r *Runner) lists(host string) bool {
	return slices.ContainsFunc(r.Hosts, func(h string) bool { return strings.EqualFold(strings.Trim(h, "[]"), host) })
}
