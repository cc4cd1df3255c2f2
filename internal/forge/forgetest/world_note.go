package forgetest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Note is something that is shown at a place of a pull request: a comment at a line.
type Note struct {
	ID, Author string
	File       string
	// Line is 0 for one at a file.
	Line int
	Text string
	// Outdated says that the forge does not show it at its line any more.
	Outdated bool
	// Resolved says that it does not stand in the way of a merge, where such a thing may.
	Resolved bool
}

// The difference that a pull request of a [World] makes has every file but those of a folder, and the first lines of each.
const (
	notInChange = "unchanged/"
	lastLine    = 50
)

// AddNote adds a comment at a place, if the pull request has it.
func (r *Repo) AddNote(c *PullRequest, commit string, n Note) (*Note, error) {
	switch {
	case commit != c.Head.Commit:
		return nil, refuse(forge.ErrInvalid, "commit_id is not part of the pull request")
	case strings.HasPrefix(n.File, notInChange):
		return nil, refuse(forge.ErrInvalid, "path is missing")
	case n.Line < 0 || n.Line > lastLine:
		return nil, refuse(forge.ErrInvalid, "line must be part of the diff")
	}
	r.world.counter++
	n.ID = strconv.Itoa(r.world.counter)
	c.Notes = append(c.Notes, &n)
	return &n, nil
}

// Note finds a comment at a place, and the pull request it is on; nil when there is none.
func (r *Repo) Note(id string) (*Note, *PullRequest) {
	for _, c := range r.PullRequests {
		for _, n := range c.Notes {
			if n.ID == id {
				return n, c
			}
		}
	}
	return nil, nil
}

// RemoveNote deletes a comment at a place.
func (r *Repo) RemoveNote(n *Note) {
	for _, c := range r.PullRequests {
		c.Notes = slices.DeleteFunc(c.Notes, func(other *Note) bool { return other == n })
	}
}

// Outdate makes what is shown at places of a pull request outdated, as when its lines are not in the difference any more.
func (w *World) Outdate(path string, change int) {
	w.Lock()
	defer w.Unlock()
	for _, n := range w.Repo(path).PullRequest(change).Notes {
		n.Outdated = true
	}
}
