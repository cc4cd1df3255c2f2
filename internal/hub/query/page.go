package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// The bounds of pages.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// The maximum lengths of cursors and of their keys, so that cursors fit into a request.
const (
	maxCursor = 2048
	maxKey    = 1000
)

// Paging selects a page of a list. The zero value is the first one.
type Paging struct {
	After string `query:"after" maxLength:"2048" doc:"The cursor of the page: next of the previous page. Default: the first page."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"Maximum number of items on the page. Default: 100."`
}

// Page is one page of a list.
type Page[T any] struct {
	// Items are sorted; never nil.
	Items []T `json:"items"`
	// Next is Paging.After of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// NextPage returns Next.
func (p Page[T]) NextPage() string { return p.Next }

// ErrCursor means that a cursor does not belong to the list. It matches [ledger.ErrInvalid].
var ErrCursor = fmt.Errorf("%w cursor: start with the first page", ledger.ErrInvalid)

// cursorPrefix is the version of the format of cursors.
const cursorPrefix = "1:"

// limit returns the size of the page.
func (p Paging) limit() int {
	if p.Limit <= 0 {
		return DefaultLimit
	}
	return min(p.Limit, MaxLimit)
}

// Place returns the key of the last item of the previous page; empty for the first page. The error is [ErrCursor].
func (p Paging) Place() (string, error) {
	if p.After == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.After)
	key, ok := strings.CutPrefix(string(text), cursorPrefix)
	if err != nil || !ok || key == "" || len(p.After) > maxCursor {
		return "", ErrCursor
	}
	return key, nil
}

// Cursor returns the cursor after the item with a key.
func Cursor(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix + key))
}

// key joins sort keys so that the results sort like the parts.
func key(parts ...string) string { return strings.Join(parts, "\x00") }

// names joins names so that the results sort as people count: large-2 before large-10.
func names(parts ...string) string {
	for i := range parts {
		parts[i] = natural.Key(parts[i])
	}
	return key(parts...)
}

// bounded shortens a long key and keeps it unique.
func bounded(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return key[:maxKey] + "\x00" + hex.EncodeToString(sum[:8])
}

// cut sorts items by their keys, which must be unique, and returns one page.
func cut[T any](items []T, p Paging, key func(*T) string) (Page[T], error) {
	after, err := p.Place()
	if err != nil {
		return Page[T]{Items: []T{}}, err
	}
	type keyed struct {
		key  string
		item *T
	}
	var rest []keyed
	for i := range items {
		if k := bounded(key(&items[i])); p.After == "" || k > after {
			rest = append(rest, keyed{k, &items[i]})
		}
	}
	slices.SortFunc(rest, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	page := Page[T]{Items: make([]T, 0, min(len(rest), p.limit()))}
	for _, r := range rest[:min(len(rest), p.limit())] {
		page.Items = append(page.Items, *r.item)
	}
	if n := len(page.Items); n < len(rest) {
		page.Next = Cursor(rest[n-1].key)
	}
	return page, nil
}
