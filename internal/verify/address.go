package verify

import (
	"fmt"
	"net/netip"
	"slices"
)

// metadata are addresses at which clouds tell their machines secrets, and that are not local to a link.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"),       // Amazon
	netip.MustParsePrefix("100.100.100.200/32"),  // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),    // Azure
	netip.MustParsePrefix("192.0.0.192/32"),      // Oracle
	netip.MustParsePrefix("fd20:ce::254/128"),    // Google
	netip.MustParsePrefix("64:ff9b::a9fe:0/112"), // IPv4 links through NAT64
	netip.MustParsePrefix("64:ff9b::7f00:0/104"), // IPv4 loopback through NAT64
	netip.MustParsePrefix("2002:a9fe::/32"),      // IPv4 links through 6to4
	netip.MustParsePrefix("2002:7f00::/24"),      // IPv4 loopback through 6to4
}

// permit says why an address, with its port, must not be connected to; nil when it may.
func (r *Runner) permit(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address", address)
	}
	ip := at.Addr().Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(ip) }
	if slices.ContainsFunc(r.Allow, contains) {
		return nil
	}
	what := ""
	switch {
	case ip.IsLoopback() || ip.IsUnspecified():
		what = "this machine's own"
	case ip.IsLinkLocalUnicast():
		what = "local to a link, where clouds keep their metadata"
	case ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		what = "of many machines"
	case slices.ContainsFunc(metadata, contains):
		what = "of a metadata service"
	default:
		return nil
	}
	return fmt.Errorf("the address %s is %s; the server has to allow it in verifications.allowAddresses", ip, what)
}
