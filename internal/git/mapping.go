package git

import (
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Mapping redirects repositories below the URL From to To, a folder or another URL.
// From matches whole path segments: "https://host/team" matches "https://host/team/repo",
// but not "https://host/teams/repo". Spellings that [SameRepository] considers equal match.
type Mapping struct{ From, To string }

// ParseMapping parses "URL=PATH". PATH can be a URL as well.
func ParseMapping(s string) (Mapping, error) {
	from, to, found := strings.Cut(s, "=")
	m := Mapping{From: strings.TrimSpace(from), To: strings.TrimSpace(to)}
	if !found || m.From == "" || m.To == "" {
		return Mapping{}, &Error{
			Kind: ErrInvalid, Op: "parse mapping", Where: secret.Scrub(s), Detail: "it is not of the form URL=PATH",
			Hint: "write for instance https://github.com/acme/shop=../shop",
		}
	}
	for _, url := range []string{m.From, m.To} {
		// A host alone maps everything on it.
		if _, ok := prefixKey(url); !ok {
			return Mapping{}, invalidURL(url, "it does not parse")
		}
	}
	return m, nil
}

// prefixKey returns the key of a mapping's From, which can be a host alone.
func prefixKey(url string) (string, bool) {
	if l, err := parseLocation(url); err == nil {
		return l.key(), true
	}
	if strings.HasSuffix(url, "://") {
		return "", false
	}
	l, err := parseLocation(strings.TrimRight(url, "/") + "/repository")
	return strings.TrimSuffix(l.key(), "/repository"), err == nil
}

// applyMappings returns the mapped location of a repository. The longest matching From applies, the first of equals.
func applyMappings(mappings []Mapping, l location) (string, bool) {
	key, best, result := l.key(), -1, ""
	for _, m := range mappings {
		from, ok := prefixKey(m.From)
		if !ok || len(from) <= best {
			continue
		}
		rest, ok := strings.CutPrefix(key, from)
		if !ok || (rest != "" && rest[0] != '/' && from != "/") {
			continue
		}
		best, result = len(from), join(m.To, strings.Trim(rest, "/"))
	}
	return result, best >= 0
}

// join appends the rest of a path to a folder or URL.
func join(to, rest string) string {
	switch {
	case rest == "":
		return to
	case strings.Contains(to, "://") || strings.Contains(to, ":"):
		return strings.TrimRight(to, "/") + "/" + rest
	default:
		return filepath.Join(to, filepath.FromSlash(rest))
	}
}
