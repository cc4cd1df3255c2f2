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

// question is a request for a page. It does not say who asks: the answer is the same for all of a role.
type question struct {
	*http.Request
	role access.Role
	now  time.Time
}

// maxText bounds what a question may say in one place.
const maxText = 512

// text returns what a question says in a place, without spaces around it. What is longer than any name is cut.
func (q *question) text(name string) string {
	text := strings.TrimSpace(q.URL.Query().Get(name))
	return text[:min(len(text), maxText)]
}

// timeForms are how people and browsers write times, in UTC where nothing else is said.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

// when reads a time; zero when there is none.
func (q *question) when(name string) (time.Time, error) {
	text := q.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: %s %.60q is no time: write it as 2026-11-20T14:30", ledger.ErrInvalid, name, text)
}

// oneOf returns what a question says in a place where only some words are understood; empty when it says nothing.
func oneOf[T ~string](q *question, name string, words ...T) (T, error) {
	text := T(q.text(name))
	if text == "" || slices.Contains(words, text) {
		return text, nil
	}
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return "", fmt.Errorf("%w: %s %.60q is none of %s", ledger.ErrInvalid, name, text, strings.Join(all, ", "))
}

// paging is the page of a list that is wanted.
func (q *question) paging(limit int) query.Paging {
	return query.Paging{After: q.URL.Query().Get("after"), Limit: limit}
}

// with is the address of this page with some parameters set, in pairs; empty values leave them out.
func (q *question) with(pairs ...string) string {
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

// next is the address of the next page of a list; empty on the last one.
func (q *question) next(after string) string {
	if after == "" {
		return ""
	}
	return q.with("after", after)
}

// choose finds the control plane of the environment that is meant. Empty is that of one which no round knows.
func (s *site) choose(q *question, environment string) (controlPlane string, err error) {
	if named := q.text("controlPlane"); named != "" {
		return named, nil
	}
	var found []string
	for _, standing := range s.Observer.Standings() {
		if standing.Environment == environment {
			found = append(found, standing.ControlPlane)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	e := &ambiguousError{environment: environment}
	for _, url := range found {
		e.choices = append(e.choices, Link{url, q.with("controlPlane", url)})
	}
	return "", e
}

// ambiguousError says that environments of several control planes have a name.
type ambiguousError struct {
	environment string
	choices     []Link
}

func (e *ambiguousError) Error() string {
	return fmt.Sprintf("%d control planes have an environment %q", len(e.choices), e.environment)
}
