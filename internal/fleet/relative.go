package fleet

import (
	"fmt"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// IsRelative reports whether a URL is relative to another repository: "." and "..", alone or before a slash.
func IsRelative(url string) bool {
	return url == "." || url == ".." || strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../")
}

// IsLocal reports whether a URL is a path or a file URL, and not host:path or another URL.
func IsLocal(url string) bool {
	if strings.HasPrefix(url, "file://") || strings.HasPrefix(url, "/") {
		return true
	}
	colon, slash := strings.IndexByte(url, ':'), strings.IndexByte(url, '/')
	return colon < 0 || slash >= 0 && slash < colon
}

// JoinURL resolves a relative URL against a repository's URL or path.
func JoinURL(repository, relative string) (string, error) {
	prefix, base := splitURL(repository)
	joined := path.Join(base, relative)
	rooted := prefix != ""
	if joined == "." || joined == "/" || rooted && (joined == ".." || strings.HasPrefix(joined, "../")) {
		if relative == "." {
			return repository, nil
		}
		return "", fmt.Errorf("%q is outside of %s", relative, secret.Redact(repository))
	}
	return prefix + joined, nil
}

func splitURL(url string) (prefix, base string) {
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		host, base, _ := strings.Cut(rest, "/")
		return scheme + "://" + host + "/", base
	}
	if !IsLocal(url) {
		host, base, _ := strings.Cut(url, ":")
		return host + ":", base
	}
	return "", url
}
