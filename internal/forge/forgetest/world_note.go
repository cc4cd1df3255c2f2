package forgetest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Note is a comment at a line of a pull request.
type Note struct {
	ID, Author string
	File       string
	// Line is 0 for a comment at the file.
	Line int
	Text string
	// Outdated means that the forge no longer shows it at its line.
	Outdated bool
	// Resolved means that it does not block a merge, on forges where open comments can.
	Resolved bool
}

// The diff of a [World]'s pull request has every file except those of one folder, and the first lines of each.
const (
	notInChange = "unchanged/"
	lastLine    = 50
)

// AddNote adds a comment at a line, if the pull request's diff contains it.
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

// Note finds a comment at a line, and its pull request. It returns nil if it does not exist.
func (r *Repo) Note(id string) (*Note, *PullRequest) {
	for _, p := range r.PullRequests {
		if n := find(p.Notes, func(n *Note) bool { return n.ID == id }); n != nil {
			return n, p
		}
	}
	return nil, nil
}

// RemoveNote deletes a comment at a line.
func (r *Repo) RemoveNote(n *Note) {
	for _, c := range r.PullRequests {
		c.Notes = slices.DeleteFunc(c.Notes, func(other *Note) bool { return other == n })
	}
}

// Outdate marks a pull request's comments at lines as outdated, as if the diff no longer contained their lines.
func (w *World) Outdate(path string, number int) {
	w.Lock()
	defer w.Unlock()
	for _, n := range w.Repo(path).PullRequest(number).Notes {
		n.Outdated = true
	}
}
