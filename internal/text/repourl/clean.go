package repourl

import (
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Clean returns the spelling of a repository that is stored and compared, without credentials:
//
//	https://host/path            for https, http and ssh; without user, default port and ".git"
//	scheme://host/path           any other scheme, such as oci; without user, query and fragment
//	/folder                      for a local folder and file:///folder
//
// The spellings of a repository at Azure DevOps become https://dev.azure.com/organization/project/_git/name.
// Of text that is not a URL, only possible credentials are removed. Cleaning twice changes nothing.
func Clean(raw string) string {
	text := strings.TrimSpace(raw)
	// Cleaned text may be a URL that needs cleaning itself.
	for range 8 {
		clean := cleanOnce(text)
		if clean == text {
			break
		}
		text = clean
	}
	return text
}

func cleanOnce(text string) string {
	if id, _, err := Parse(text); err == nil {
		return "https://" + id.Host + "/" + idPath(id)
	}
	text = secret.Line(secret.Redact(text))
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || !strings.Contains(text, "://") || strings.Contains(text, " ") {
		return trimmed(withoutUser(text))
	}
	u.Scheme, u.Host, u.User = strings.ToLower(u.Scheme), strings.ToLower(u.Host), nil
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	if u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
		return trimmed(u.Path)
	}
	return trimmed(u.String())
}

// withoutUser removes what may be a user and a password from text that is not a URL: everything up to the last @, after "://" if that
// is there. Folders can have an @ in their name.
func withoutUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if scheme, _, ok := strings.Cut(text, "://"); ok && at > len(scheme) {
		return scheme + "://" + text[at+1:]
	}
	if at >= 0 && strings.Contains(text[:at], ":") && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, ".") {
		return text[at+1:]
	}
	return text
}

// idPath returns the path that browsers and Git use.
func idPath(id ID) string {
	if id.Host == azure {
		return id.Owner() + "/_git/" + id.Name()
	}
	return id.Path
}

// trimmed removes trailing slashes and ".git".
func trimmed(text string) string {
	if short := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(text, "/"), ".git"), "/"); short != "" {
		return short
	}
	return text
}

// Same reports whether two URLs are spellings of the same repository. Folders are compared as they are written.
func Same(a, b string) bool { return a == b || Clean(a) == Clean(b) }
