package api

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// Paging are the parameters of every list.
type Paging struct {
	After string `query:"after" maxLength:"2000" doc:"Where the page begins: next of the page before. It means nothing by itself."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"How many items a page has at most. Default: 100."`
}

// cursorPrefix is the version of what a cursor holds.
const cursorPrefix = "1:"

// of returns the paging of a query.
func (p Paging) of() (query.Paging, error) {
	after, err := decodeCursor(p.After)
	return query.Paging{After: after, Limit: p.Limit}, err
}

// encodeCursor hides where a page begins, so that nobody relies on what that is.
func encodeCursor(after string) string {
	if after == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix + after))
}

func decodeCursor(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	after, ok := strings.CutPrefix(string(text), cursorPrefix)
	if err != nil || !ok || after == "" {
		p := newProblem(http.StatusUnprocessableEntity, "after is no place in this list", "leave it out to begin anew")
		p.Errors = []ProblemPart{{Message: "want next of the page before", Location: "query.after"}}
		return "", p
	}
	return after, nil
}

// link is the header that leads to the next page of the list at an address.
func link(u url.URL, next string) string {
	q := u.Query()
	q.Set("after", next)
	return "<" + u.EscapedPath() + "?" + q.Encode() + `>; rel="next"`
}

// escape writes a name as an element of a path.
func escape(name string) string { return url.PathEscape(name) }
