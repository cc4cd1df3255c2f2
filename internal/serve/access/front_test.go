package access

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestFrontRefusesUnknownHosts(t *testing.T) {
	for _, tc := range []struct {
		hosts []string
		host  string
		want  int
	}{
		{[]string{"kalypso.example.com"}, "evil.example", 421},
		{[]string{"kalypso.example.com"}, "evil.example:8080", 421},
		{[]string{"kalypso.example.com"}, "localhost.evil.example", 421},
		{[]string{}, "kalypso.example.com", 421},
		{[]string{"kalypso.example.com"}, "", 421},
		{[]string{"kalypso.example.com"}, "Kalypso.example.com:443", 200},
		{[]string{}, "localhost:8080", 200},
		{[]string{}, "127.0.0.1:8080", 200},
		{[]string{}, "[::1]:8080", 200},
		{[]string{}, "10.0.0.7", 200},
		{nil, "kalypso.default.svc", 200},
	} {
		f := &Front{Hosts: tc.hosts, Next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Host = tc.host
		f.ServeHTTP(w, r)
		if w.Code != tc.want {
			t.Errorf("%q of %q: got %d, want %d", tc.host, tc.hosts, w.Code, tc.want)
		}
	}
}

func TestFrontFindsClientsBehindTrustedProxies(t *testing.T) {
	proxies, err := ParseProxies([]string{"10.1.0.0/16", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		remote    string
		forwarded []string
		want      string
	}{
		{"10.1.2.3:99", []string{"203.0.113.9"}, "203.0.113.9"},
		{"[::ffff:10.1.2.3]:99", []string{"203.0.113.9"}, "203.0.113.9"},
		{"[::1]:99", []string{"2001:db8::9"}, "2001:db8::9"},
		{"10.1.2.3:99", []string{"8.8.8.8, 203.0.113.9, 10.1.9.9"}, "203.0.113.9"}, // the client wrote the first itself
		{"10.1.2.3:99", []string{"8.8.8.8", "203.0.113.9"}, "203.0.113.9"},
		{"10.1.2.3:99", []string{"203.0.113.9, unknown"}, "10.1.2.3"},
		{"10.1.2.3:99", nil, "10.1.2.3"},
		{"192.0.2.1:99", []string{"203.0.113.9"}, "192.0.2.1"}, // not a trusted proxy
	} {
		got := ""
		f := &Front{Proxies: proxies, Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = Address(r) })}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = tc.remote, tc.forwarded
		f.ServeHTTP(httptest.NewRecorder(), r)
		if got != tc.want {
			t.Errorf("%s for %q: got %s, want %s", tc.remote, tc.forwarded, got, tc.want)
		}
	}
	if _, err := ParseProxies([]string{"ingress.example.com"}); err == nil {
		t.Error("a name is accepted")
	}
}
