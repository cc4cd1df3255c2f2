package observing

// The bounds of pages.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Paging says which page of a list is wanted. The zero value is the first one.
type Paging struct {
	// After is Page.Next of the page before. Another query with it is an error or another place; it never does harm.
	After string
	// Limit is how many items a page has at most: DefaultLimit when it is 0, and never more than MaxLimit.
	Limit int
}

// Page is one page of a list.
type Page[T any] struct {
	// Items are sorted; never nil.
	Items []T `json:"items"`
	// Next is Paging.After of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}
