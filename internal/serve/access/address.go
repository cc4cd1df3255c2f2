package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Address is where a request came from: the other end of the connection, without the port.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// relayed are headers of proxies. What they say is not believed; that they are there shows that somebody else asks.
func relayed() []string {
	return []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}
}

// local reports whether a program of this machine asks for itself. The name that it asked for counts as well: a page of
// somebody else's, whose name was made to lead here, must not read what is local.
func local(r *http.Request) bool {
	for _, header := range relayed() {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return loopback(Address(r)) && (strings.EqualFold(host, "localhost") || loopback(host))
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}
