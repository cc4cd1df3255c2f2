package repourl

import (
	"net/url"
	"slices"
	"strings"
)

// Within reports whether a URL is a prefix or continues it with whole segments of its path: https://git.example.com/team contains
// https://git.example.com/team/shop.git, but neither https://git.example.com/team-b nor https://git.example.com.evil/team.
//
// Unlike in [Parse], the scheme matters, because what is sent to a URL can be read by others with http. A URL is within nothing if servers may
// read its path differently: with escaped characters, a query, or segments such as "..".
func Within(raw, prefix string) bool {
	at, ok := newPlace(raw)
	if !ok {
		return false
	}
	limit, ok := newPlace(prefix)
	return ok && at.scheme == limit.scheme && at.host == limit.host &&
		len(at.segments) >= len(limit.segments) && slices.Equal(at.segments[:len(limit.segments)], limit.segments)
}

// IsPrefix reports whether a URL can be a prefix for [Within]. It has no user, because those of URLs do not matter.
func IsPrefix(prefix string) bool {
	u, err := url.Parse(prefix)
	if err != nil || u.User != nil {
		return false
	}
	_, ok := newPlace(prefix)
	return ok && strings.Contains(prefix, "://")
}

// place is the part of a URL that decides where a request goes.
type place struct {
	// host is in lower case, with the port unless it is the default.
	scheme, host string
	segments     []string
}

// newPlace parses a URL of any scheme. It reports false if its place is not certain.
func newPlace(raw string) (place, bool) {
	u, err := split(raw)
	if err != nil {
		if u, err = url.Parse(raw); err != nil || !strings.Contains(raw, "://") {
			return place{}, false
		}
	}
	p := place{scheme: u.Scheme, host: TrimPort(u.Scheme, strings.ToLower(u.Host))}
	switch {
	case p.host == "" || u.Opaque != "" || u.RawPath != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return place{}, false
	case strings.ContainsAny(u.Path, `\%?#`):
		return place{}, false
	}
	if text := strings.Trim(u.Path, "/"); text != "" {
		p.segments = strings.Split(text, "/")
		last := len(p.segments) - 1
		p.segments[last] = strings.TrimSuffix(p.segments[last], ".git")
	}
	for _, segment := range p.segments {
		if segment == "" || segment == "." || segment == ".." {
			return place{}, false
		}
	}
	return p, true
}
