package comply

import (
	"net/url"
	"path"
	"strings"
)

// followsOneWay reports whether one of two folders contains the other.
// A reconciler may follow a parent of the expected folder, or an overlay inside it.
func followsOneWay(expected, followed string) bool {
	expected, followed = cleanPath(expected), cleanPath(followed)
	return within(expected, followed) || within(followed, expected)
}

func within(folder, parent string) bool {
	return parent == "" || folder == parent || strings.HasPrefix(folder, parent+"/")
}

func cleanPath(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

// repoKey is the same for all spellings of a repository's URL: the protocol, the user, the case of the host, a trailing ".git"
// and slashes do not matter. Two hosts are two repositories; the caller maps such URLs to one.
func repoKey(address string) string {
	host, rest := splitAddress(strings.TrimSpace(address))
	rest = strings.Trim(rest, "/")
	rest = strings.TrimRight(strings.TrimSuffix(rest, ".git"), "/")
	return strings.ToLower(host) + "/" + rest
}

func splitAddress(address string) (host, rest string) {
	if strings.Contains(address, "://") {
		if u, err := url.Parse(address); err == nil {
			return trimDefaultPort(u.Host), u.Path
		}
		return "", address
	}
	// The short form of ssh is git@host:path. A local path has no colon before its first slash.
	if host, rest, ok := strings.Cut(address, ":"); ok && !strings.Contains(host, "/") {
		_, host, _ = cutLast(host, "@")
		return host, rest
	}
	return "", address
}

func trimDefaultPort(host string) string {
	for _, port := range []string{":22", ":80", ":443"} {
		host = strings.TrimSuffix(host, port)
	}
	return host
}
