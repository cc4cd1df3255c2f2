package ledger

import (
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// CleanRepository writes the URL of a repository in the one way in which ledgers have it, without credentials:
//
//	https://host/path            whether it is reached by https, http or ssh; no user, no usual port, no ".git"
//	scheme://host/path           any other scheme, such as oci
//	/folder                      a folder of this machine, and file:///folder
//
// The spellings of a repository at Azure DevOps become https://dev.azure.com/organization/project/_git/name.
// What is no URL stays as it is, but for what may be a credential. Cleaning twice changes nothing.
func CleanRepository(raw string) string {
	text := strings.TrimSpace(raw)
	// What was hidden in a strange text may be an address once it is clean.
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
	if id, err := forge.ParseID(text); err == nil {
		return "https://" + id.Host + "/" + idPath(id)
	}
	text = secret.Line(secret.Redact(text))
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || !strings.Contains(text, "://") {
		return trimmed(text)
	}
	u.Scheme, u.Host, u.User = strings.ToLower(u.Scheme), strings.ToLower(u.Host), nil
	if u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
		return trimmed(u.Path)
	}
	return trimmed(u.String())
}

// idPath is the path that browsers and Git understand.
func idPath(id forge.ID) string {
	if id.Host == "dev.azure.com" {
		return id.Owner() + "/_git/" + id.Name()
	}
	return id.Path
}

// trimmed leaves out what does not matter at the end of an address.
func trimmed(text string) string {
	if short := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(text, "/"), ".git"), "/"); short != "" {
		return short
	}
	return text
}
