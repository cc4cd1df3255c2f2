package secret

import "net/netip"

// IsLoopback reports whether a host name or IP address is this machine: a token sent there does not leave it.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
