package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// pageRequest is a request for a page. It does not have the user: a page is the same for all users of a role who see the same.
type pageRequest struct {
	*http.Request
	// role is the role of the server; reader for users with roles in workspaces.
	role access.Role
	// scope has the roles in workspaces.
	scope access.Scope
	// observer answers about what the user sees. Pages for users with roles in workspaces must not ask another one.
	observer *query.Observer
	now      time.Time
}

// maxText limits a parameter, in bytes.
const maxText = 512

// text returns a parameter without surrounding space, truncated to maxText.
func (q *pageRequest) text(name string) string {
	text := strings.TrimSpace(q.URL.Query().Get(name))
	return text[:min(len(text), maxText)]
}

// timeForms are the accepted time layouts. UTC is the default zone.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

// when returns a time parameter; zero if it is not set.
func (q *pageRequest) when(name string) (time.Time, error) {
	text := q.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: the parameter %s is %.60q, and not a time; use the form 2026-11-20T14:30", ledger.ErrInvalid, name, text)
}

// oneOf returns a parameter that must be one of some words; empty if it is not set.
func oneOf[T ~string](q *pageRequest, name string, words ...T) (T, error) {
	text := T(q.text(name))
	if text == "" || slices.Contains(words, text) {
		return text, nil
	}
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return "", fmt.Errorf("%w: the parameter %s is %.60q, and not one of %s", ledger.ErrInvalid, name, text, strings.Join(all, ", "))
}

// paging returns the requested page of a list.
func (q *pageRequest) paging(limit int) query.Paging {
	return query.Paging{After: q.URL.Query().Get("after"), Limit: limit}
}

// with returns the address of this page with other parameters, in pairs of name and value. An empty value removes one.
func (q *pageRequest) with(pairs ...string) string {
	values := q.URL.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Del(pairs[i])
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return q.URL.Path
	}
	return q.URL.Path + "?" + values.Encode()
}

// next returns the address of the next page of a list; empty on the last one.
func (q *pageRequest) next(after string) string {
	if after == "" {
		return ""
	}
	return q.with("after", after)
}

// choose returns the control plane of an environment. It is empty if no control plane of this server has the environment.
func (s *site) choose(q *pageRequest, environment string) (string, error) {
	return q.observer.ControlPlaneOf(environment, q.text("controlPlane"))
}
