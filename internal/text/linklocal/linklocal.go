// Package linklocal tells which addresses are those of a link or of a cloud's metadata service, which has credentials of the machine.
package linklocal

import (
	"net/netip"
	"slices"
	"strings"
)

// metadata holds the addresses of cloud metadata services that are not link-local.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"),       // Amazon
	netip.MustParsePrefix("100.100.100.200/32"),  // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),    // Azure
	netip.MustParsePrefix("192.0.0.192/32"),      // Oracle
	netip.MustParsePrefix("fd20:ce::254/128"),    // Google
	netip.MustParsePrefix("64:ff9b::a9fe:0/112"), // IPv4 links through NAT64
	netip.MustParsePrefix("2002:a9fe::/32"),      // IPv4 links through 6to4
}

// names are the names of metadata services. A proxy resolves them where their addresses cannot be seen.
var names = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

// Describe says what an address is, to follow "the address is"; empty for all others.
func Describe(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	switch {
	case ip.IsLinkLocalUnicast():
		return "local to a link, where clouds keep their metadata"
	case slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return "of a metadata service"
	}
	return ""
}

// DescribeHost is [Describe] for the host of a URL: an address, or a name, which is not resolved.
func DescribeHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return Describe(ip)
	}
	if slices.Contains(names, host) {
		return "of a metadata service"
	}
	return ""
}
