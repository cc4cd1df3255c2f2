package rest

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// maxPages limits lists, in case a forge always names a next page.
const maxPages = 1000

// Pages reads a list page by page, following Link headers, and calls use for each element until it returns false.
// The query sets the page size. Pages ignores Out.
func Pages[T any](ctx context.Context, c *Client, r Request, use func(T) bool) error {
	return PagesOf(ctx, c, r, func(page []T) []T { return page }, use)
}

// PagesOf is [Pages] for pages that are wrapped in an object.
func PagesOf[P, T any](ctx context.Context, c *Client, r Request, elements func(P) []T, use func(T) bool) error {
	target := c.Base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	for range maxPages {
		var page P
		r.Out = &page
		header, err := c.do(ctx, r, target)
		if err != nil {
			return err
		}
		for _, element := range elements(page) {
			if !use(element) {
				return nil
			}
		}
		if target = nextPage(header, target); target == "" {
			return nil
		}
	}
	return r.fail(forge.ErrUnavailable, "the list does not end")
}

// nextPage returns the URL of the next page from a Link header; empty on the last page.
// It uses only the query of the link, because the host may be the forge's internal name behind a proxy.
func nextPage(h http.Header, current string) string {
	for _, value := range h.Values("Link") {
		for link := range strings.SplitSeq(value, ",") {
			address, parameters, found := strings.Cut(link, ";")
			if !found || !strings.Contains(strings.ReplaceAll(parameters, " ", ""), `rel="next"`) {
				continue
			}
			next, err := url.Parse(strings.Trim(strings.TrimSpace(address), "<>"))
			if err != nil {
				return ""
			}
			at, err := url.Parse(current)
			if err != nil {
				return ""
			}
			at.RawQuery = next.RawQuery
			return at.String()
		}
	}
	return ""
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
