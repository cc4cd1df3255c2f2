package verify

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// metadata are addresses at which clouds tell their machines secrets, and that are not local to a link.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"),       // Amazon
	netip.MustParsePrefix("100.100.100.200/32"),  // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),    // Azure
	netip.MustParsePrefix("192.0.0.192/32"),      // Oracle
	netip.MustParsePrefix("fd20:ce::254/128"),    // Google
	netip.MustParsePrefix("64:ff9b::a9fe:0/112"), // IPv4 links through NAT64
	netip.MustParsePrefix("2002:a9fe::/32"),      // IPv4 links through 6to4
}

// private are addresses that are private to a network, besides those that everybody knows as such.
var private = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), // of carriers, and of many clusters
	netip.MustParsePrefix("198.18.0.0/15"), // of tests
	netip.MustParsePrefix("64:ff9b::/96"),  // any through NAT64
	netip.MustParsePrefix("2002::/16"),     // any through 6to4
}

// Permit says why an address, with its port, must not be connected to in order to ask a host; nil when it may.
// It is for whoever else asks what people name who do not run the server, once names are resolved.
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
	case ip.IsLinkLocalUnicast():
		what = "local to a link, where clouds keep their metadata"
	case slices.ContainsFunc(metadata, contains):
		what = "of a metadata service"
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

// lists reports whether the operator named a host.
func (r *Runner) lists(host string) bool {
	return slices.ContainsFunc(r.Hosts, func(h string) bool { return strings.EqualFold(strings.Trim(h, "[]"), host) })
}
