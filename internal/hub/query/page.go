package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
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
	// After is Page.Next of the previous page of the same query.
	After string
	// Limit is the size of a page. Default: DefaultLimit; at most MaxLimit.
	Limit int
}

// Page is one page of a list.
type Page[T any] struct {
	// Items are sorted; never nil.
	Items []T `json:"items"`
	// Next is Paging.After of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// limit returns the size of the page.
func (p Paging) limit() int {
	if p.Limit <= 0 {
		return DefaultLimit
	}
	return min(p.Limit, MaxLimit)
}

// place returns the key of the last item of the previous page; empty for the first page.
func (p Paging) place() (string, error) {
	if p.After == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil || len(p.After) > maxCursor || len(text) == 0 {
		return "", fmt.Errorf("%w: invalid cursor %.40q: start with the first page", ledger.ErrInvalid, p.After)
	}
	return string(text), nil
}

// cursor returns the cursor after the item with a key.
func cursor(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// key joins sort keys so that the results sort like the parts.
func key(parts ...string) string { return strings.Join(parts, "\x00") }

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
	after, err := p.place()
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
		page.Next = cursor(rest[n-1].key)
	}
	return page, nil
}
