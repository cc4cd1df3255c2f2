package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Address returns the client's IP address: that of the connection, or what [Front] found behind trusted proxies.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// relayed are headers of proxies. Their values are not trusted; their presence shows that another client sent the request.
func relayed() []string {
	return []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}
}

// local reports whether a program on this machine sent the request, to a local host name: a page of another site whose
// host name resolves to this machine must not read local data.
func local(r *http.Request) bool {
	for _, header := range relayed() {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	host := hostName(r.Host)
	return loopback(Address(r)) && (strings.EqualFold(host, "localhost") || loopback(host))
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}
