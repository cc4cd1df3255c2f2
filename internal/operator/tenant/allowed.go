package tenant

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/operator"
)

// Allowed are the servers that control planes may use, as scheme and host: "https://github.com". Empty allows every https URL.
// Plain http, and databases, are allowed only on servers that are listed with them: "postgres://db.shop.svc:5432".
type Allowed []string

// ParseAllowed checks and normalizes a list of servers.
func ParseAllowed(list []string) (Allowed, error) {
	var all Allowed
	for _, text := range list {
		u, err := url.Parse(text)
		if err != nil || !slices.Contains([]string{"https", "http", "postgres", "postgresql"}, u.Scheme) || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" {
			return nil, fmt.Errorf("%q is not a server such as https://github.com or postgres://db.example.com", text)
		}
		all = append(all, serverOf(u.Scheme, u.Host))
	}
	return all, nil
}

// serverOf returns a server without the default port of its scheme.
func serverOf(scheme, host string) string {
	host = strings.ToLower(host)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "postgres", "postgresql":
		scheme, host = "postgres", strings.TrimSuffix(host, ":"+databasePort)
	}
	return scheme + "://" + host
}

// check returns an [operator.ErrNotAllowed] for other servers.
func (a Allowed) check(scheme, host string) error {
	server := serverOf(scheme, host)
	switch {
	case scheme == "file":
		return fmt.Errorf("%w: a folder", operator.ErrNotAllowed)
	case slices.Contains(a, server), len(a) == 0 && scheme == "https":
		return nil
	}
	return fmt.Errorf("%w: %s", operator.ErrNotAllowed, server)
}

// checkURL is check for a URL.
func (a Allowed) checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%w: it is not a URL", operator.ErrNotAllowed)
	}
	return a.check(u.Scheme, u.Host)
}
