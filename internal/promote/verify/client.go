package verify

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Client returns a client that connects to the permitted addresses only. It is for charts and other things that applications name, which must not
// make the program send requests to its own network.
func (r *Runner) Client() *http.Client {
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				host, _, err := net.SplitHostPort(address)
				if err != nil {
					return nil, err
				}
				dialer := net.Dialer{Timeout: 30 * time.Second, Control: func(_, at string, _ syscall.RawConn) error { return r.Permit(host, at) }}
				return dialer.DialContext(ctx, network, address)
			},
			TLSHandshakeTimeout: 30 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
		},
	}
}
