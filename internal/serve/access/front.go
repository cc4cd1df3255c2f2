package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Front is the first handler of a server. It refuses requests for unknown hosts, and finds the clients behind trusted proxies.
type Front struct {
	Next http.Handler // required
	// Hosts are the host names that the server answers for, besides localhost and IP addresses; nil means all. A page of another site
	// whose host name resolves to this machine must not use the server.
	Hosts []string
	// Proxies are the addresses of trusted proxies. The header X-Forwarded-For of others is ignored.
	Proxies []netip.Prefix
}

// ParseProxies reads addresses and networks: "10.0.0.7", "10.1.0.0/16".
func ParseProxies(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, addressErr := netip.ParseAddr(text); addressErr == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not an address or a network such as 10.1.0.0/16", text)
		}
		all = append(all, prefix)
	}
	return all, nil
}

// ServeHTTP implements [http.Handler].
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.answersFor(hostName(r.Host)) {
		http.Error(w, "This server does not answer for the host of this address. An administrator can add it to access.hosts.", http.StatusMisdirectedRequest)
		return
	}
	if client, ok := f.client(r); ok {
		behind := *r
		behind.RemoteAddr = net.JoinHostPort(client.String(), "0")
		r = &behind
	}
	f.Next.ServeHTTP(w, r)
}

func (f *Front) answersFor(host string) bool {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || f.Hosts == nil || strings.EqualFold(host, "localhost") {
		return true
	}
	return slices.ContainsFunc(f.Hosts, func(known string) bool { return strings.EqualFold(known, host) })
}

// client returns the last address in X-Forwarded-For that is not a trusted proxy, if the request comes from one.
func (f *Front) client(r *http.Request) (netip.Addr, bool) {
	client, err := netip.ParseAddr(Address(r))
	if err != nil || !f.trusts(client) {
		return netip.Addr{}, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if client = address.Unmap(); !f.trusts(client) {
			break
		}
	}
	return client, true
}

func (f *Front) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(f.Proxies, func(p netip.Prefix) bool { return p.Contains(address.Unmap()) })
}

// hostName returns a host without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}
