package forge

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// ID identifies a repository, independent of the spelling of its URL.
type ID = repourl.ID

// ParseID parses the URL of a repository as [repourl.Parse] does. Errors are [ErrInvalid].
func ParseID(raw string) (ID, error) {
	id, _, err := parseURL(raw)
	return id, err
}

// parseURL also returns the scheme.
func parseURL(raw string) (ID, string, error) {
	id, scheme, err := repourl.Parse(raw)
	if err != nil {
		return ID{}, "", invalidURL(raw, strings.TrimPrefix(err.Error(), repourl.ErrInvalid.Error()+": "))
	}
	return id, scheme, nil
}

func invalidURL(raw, why string) error {
	return &Error{
		Kind: ErrInvalid, Op: "parse repository URL", Where: redact(raw), Detail: why,
		Hint: "write https://host/owner/name or git@host:owner/name",
	}
}
