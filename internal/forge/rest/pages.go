package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// maxPages limits lists, in case a forge always names a next page.
const maxPages = 1000

// Pages reads a list page by page, and calls use for each element until it returns false.
// The query sets the page size. Pages ignores Out.
func Pages[T any](ctx context.Context, c *Client, r Request, use func(T) bool) error {
	next := r.Next
	if next == nil {
		next = linked
	}
	r.Query = c.query(r)
	for range maxPages {
		var page []T
		var object map[string]json.RawMessage
		if r.Out = &page; r.Element != "" {
			r.Out = &object
		}
		header, err := c.do(ctx, r)
		if err != nil {
			return err
		}
		if list, ok := object[r.Element]; ok && json.Unmarshal(list, &page) != nil {
			return r.unexpected()
		}
		for _, element := range page {
			if !use(element) {
				return nil
			}
		}
		more := r.Follow != nil && r.Follow(object, r.Query)
		if r.Follow == nil {
			more = next(header, r.Query, len(page))
		}
		if !more {
			return nil
		}
	}
	return r.fail(forge.ErrUnavailable, "the list does not end")
}

// linked follows the Link header. It uses only the query of the link, because the host may be the forge's internal name
// behind a proxy.
func linked(h http.Header, query url.Values, _ int) bool {
	for _, value := range h.Values("Link") {
		for link := range strings.SplitSeq(value, ",") {
			address, parameters, found := strings.Cut(link, ";")
			if !found || !strings.Contains(strings.ReplaceAll(parameters, " ", ""), `rel="next"`) {
				continue
			}
			next, err := url.Parse(strings.Trim(strings.TrimSpace(address), "<>"))
			if err != nil {
				return false
			}
			clear(query)
			maps.Copy(query, next.Query())
			return true
		}
	}
	return false
}
