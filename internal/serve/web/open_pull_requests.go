package web

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// OpenPullRequests remembers the open pull requests that rounds listed, so that pages need no forge. The zero value is empty and ready.
// It is safe for concurrent use.
type OpenPullRequests struct {
	mu    sync.Mutex
	lists map[string]openList // by repository
}

// openList is what the last round listed of a repository.
type openList struct {
	Repository string `json:"repository"`
	// ControlPlane reports that it is a control plane, whose pull requests can be planned.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Items are the newest first, at most maxOpen of them; never nil. More is how many others there are.
	Items []openPullRequest `json:"items"`
	More  int               `json:"more,omitempty"`
	// Partial reports that older ones were not listed.
	Partial bool `json:"partial,omitempty"`
	// Listed is when it was listed; Unknown reports that a later attempt failed.
	Listed  time.Time `json:"listed,omitzero"`
	Unknown bool      `json:"unknown,omitempty"`
}

type openPullRequest struct {
	Number  int       `json:"number"`
	Title   string    `json:"title"`
	Author  string    `json:"author,omitempty"`
	URL     string    `json:"url,omitempty"`
	From    string    `json:"from"`
	Into    string    `json:"into"`
	Draft   bool      `json:"draft,omitempty"`
	Created time.Time `json:"created,omitzero"`
	// Plan is the address of its plan; empty for other repositories than control planes.
	Plan string `json:"-"`
}

// maxOpen limits the pull requests of a repository, and maxOpenText their texts in bytes.
const (
	maxOpen     = 50
	maxOpenText = 256
)

// Listing is what a round listed of a repository.
type Listing struct {
	Repository   string // required
	ControlPlane bool
	// All may have pull requests that are not open; they are left out.
	All []forge.PullRequest
	// Partial reports that older pull requests were not listed.
	Partial bool
	At      time.Time // required
	Err     error
}

// Listed sets what a round listed. After an error the earlier list stays, marked as old.
func (o *OpenPullRequests) Listed(l Listing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lists == nil {
		o.lists = map[string]openList{}
	}
	if l.Err != nil {
		was := o.lists[l.Repository]
		was.Repository, was.ControlPlane, was.Unknown = l.Repository, l.ControlPlane, true
		o.lists[l.Repository] = was
		return
	}
	list := openList{Repository: l.Repository, ControlPlane: l.ControlPlane, Partial: l.Partial, Listed: l.At.UTC()}
	for _, p := range l.All {
		if p.State != forge.Open {
			continue
		}
		list.Items = append(list.Items, openPullRequest{
			Number: p.Number, Title: forge.OneLine(p.Title, maxOpenText), Author: forge.OneLine(p.Author, maxOpenText), URL: p.URL,
			From: forge.OneLine(p.Head.Branch, maxOpenText), Into: forge.OneLine(p.Base.Branch, maxOpenText), Draft: p.Draft, Created: p.CreatedAt,
		})
	}
	slices.SortFunc(list.Items, func(a, b openPullRequest) int { return cmp.Compare(b.Number, a.Number) })
	if list.More = max(len(list.Items)-maxOpen, 0); list.More > 0 {
		list.Items = list.Items[:maxOpen:maxOpen]
	}
	o.lists[l.Repository] = list
}

// all returns the lists, control planes first.
func (o *OpenPullRequests) all() []openList {
	lists := []openList{}
	if o == nil {
		return lists
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lists {
		l.Items = append([]openPullRequest{}, l.Items...)
		lists = append(lists, l)
	}
	slices.SortFunc(lists, func(a, b openList) int {
		if a.ControlPlane != b.ControlPlane {
			return map[bool]int{true: -1, false: 1}[a.ControlPlane]
		}
		return strings.Compare(a.Repository, b.Repository)
	})
	return lists
}
