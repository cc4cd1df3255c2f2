package local

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/forge/local/syntax"
)

// Limits of a page of commits: how many it lists, and how many it reads to find them.
const (
	shownCommits = 50
	readCommits  = 2000
)

// commitsPage lists the commits of a branch or, with a path, those that changed a file or folder.
type commitsPage struct {
	place
	Path  string
	Lines []commitLine
	// Next is the page with earlier commits; empty if there are none.
	Next string
}

// commitLine is a commit in a list.
type commitLine struct {
	Link, Commit, Title, Author string
	At                          time.Time
}

// commitPage is one commit, with what it changed since its first parent.
type commitPage struct {
	commitLine
	// Body is the message without its first line.
	Body string
	// Files is the tree at the commit, and Parents are its parents.
	Files   string
	Parents []link
	Diff    diff
}

// commits lists commits, the newest first, along first parents: merges count as one, as they were made.
func (p *pages) commits(r *request) error {
	_, e, err := p.the(r, "commits")
	if err != nil {
		return err
	}
	objects := p.open(e)
	file := strings.Trim(r.PathValue("path"), "/")
	at, commit, err := p.at(objects, r.FormValue("ref"))
	if err != nil {
		return err
	}
	at.Crumbs = p.crumbs(e, at.Ref, file)
	data := commitsPage{place: at, Path: file}
	if from := r.FormValue("from"); from != "" {
		if !plumbing.IsHash(from) {
			return invalid(fmt.Sprintf("%.60q is not the hash of a commit", from))
		}
		commit = plumbing.NewHash(from)
	}
	next, err := p.walk(r.Context(), e, objects, commit, file, &data.Lines)
	if err != nil {
		return err
	}
	if !next.IsZero() {
		data.Next = "?" + url.Values{"ref": {at.Ref}, "from": {next.String()}}.Encode()
	}
	title := "Commits of " + e.path()
	if file != "" {
		title = "History of " + file
	}
	return p.render(r, http.StatusOK, "commits", title, data)
}

// walk adds commits that changed a path, from a commit on, and returns where to go on; zero at the end.
func (p *pages) walk(ctx context.Context, e entry, objects bare, from plumbing.Hash, file string, lines *[]commitLine) (next plumbing.Hash, err error) {
	for read := 0; !from.IsZero(); read++ {
		if len(*lines) == shownCommits || read == readCommits || ctx.Err() != nil {
			return from, ctx.Err()
		}
		c, err := object.GetCommit(objects, from)
		if err != nil {
			return plumbing.ZeroHash, notFound("commit " + from.String() + " does not exist")
		}
		parent := plumbing.ZeroHash
		if len(c.ParentHashes) > 0 {
			parent = c.ParentHashes[0]
		}
		changed, err := changesPath(objects, from, parent, file)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if changed {
			*lines = append(*lines, p.lineOf(e, c))
		}
		from = parent
	}
	return plumbing.ZeroHash, nil
}

// changesPath reports whether a path differs between a commit and its parent. The empty path is the whole tree.
func changesPath(objects bare, commit, parent plumbing.Hash, file string) (bool, error) {
	if file == "" {
		return true, nil
	}
	now, err := hashAt(objects, commit, file)
	if err != nil {
		return false, err
	}
	before, err := hashAt(objects, parent, file)
	return now != before, err
}

// hashAt returns the hash of a path in the tree of a commit; zero if it does not exist there.
func hashAt(objects bare, commit plumbing.Hash, file string) (plumbing.Hash, error) {
	tree, err := treeOf(objects, commit)
	for err == nil {
		name, rest, inside := strings.Cut(file, "/")
		i := slices.IndexFunc(tree.Entries, func(e object.TreeEntry) bool { return e.Name == name })
		switch {
		case i < 0, inside && tree.Entries[i].Mode != filemode.Dir: // no such entry, or a file that was a folder at another time
			return plumbing.ZeroHash, nil
		case !inside:
			return tree.Entries[i].Hash, nil
		}
		file = rest
		tree, err = object.GetTree(objects, tree.Entries[i].Hash)
	}
	return plumbing.ZeroHash, fmt.Errorf("read the files of commit %s: %w", commit, err)
}

// lineOf describes a commit in a list.
func (p *pages) lineOf(e entry, c *object.Commit) commitLine {
	title, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	return commitLine{
		Link: p.base() + "/" + e.path() + "/commit/" + c.Hash.String(), Commit: c.Hash.String(), Title: cmp.Or(title, "(without a message)"),
		Author: c.Author.Name, At: c.Committer.When.UTC(),
	}
}

// commit shows one commit.
func (p *pages) commit(r *request) error {
	_, e, err := p.the(r, "commits")
	if err != nil {
		return err
	}
	hash := r.PathValue("hash")
	if !plumbing.IsHash(hash) {
		return invalid(fmt.Sprintf("%.60q is not the whole hash of a commit", hash))
	}
	objects := p.open(e)
	c, err := object.GetCommit(objects, plumbing.NewHash(hash))
	if err != nil {
		return notFound("commit " + hash + " does not exist")
	}
	data := commitPage{commitLine: p.lineOf(e, c), Files: p.fileLink(e, hash, "")}
	_, body, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	data.Body = strings.TrimSpace(body)
	first := plumbing.ZeroHash
	for _, parent := range slices.Backward(c.ParentHashes) {
		first = parent
		data.Parents = slices.Insert(data.Parents, 0, link{parent.String(), p.base() + "/" + e.path() + "/commit/" + parent.String()})
	}
	changes, err := changesBetween(objects, first, c.Hash)
	if err != nil {
		return err
	}
	if data.Diff, err = diffOf(objects, changes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), paintFor)
	defer cancel()
	data.Diff.paint(syntax.New(ctx))
	return p.render(r, http.StatusOK, "commit", data.Title, data)
}
