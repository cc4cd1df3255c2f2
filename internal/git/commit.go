package git

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// CommitRequest describes a commit: the changes to its parent.
type CommitRequest struct {
	// Parent is the commit to build on. The zero value makes a commit without a parent.
	Parent Commit
	// Put are files to write, by path. Files that already have the content are unchanged. Executable files stay executable.
	Put map[string][]byte
	// Delete are paths of files to remove. Missing files are skipped; folders that become empty are removed.
	Delete []string
	// Message is the commit message; required.
	Message string
	// Author is required. Committer defaults to the author.
	Author, Committer Person
	// When is the time of the commit; required. Equal requests make equal commits.
	When time.Time
	// Signer signs the commit. Nil leaves it unsigned. With some signers, equal requests make different commits; see [Signer].
	Signer Signer
}

// Person is a name and an e-mail address.
type Person struct{ Name, Email string }

// Commit writes a commit and its objects into the repository, or into the cache of a remote one.
// No branch contains it until [Repository.Push] moves one.
// Only changed parts are read and written. The error is ErrNothingToCommit if nothing changes,
// and ErrInvalid for unsafe or contradicting paths and for plain folders.
func (r *Repository) Commit(ctx context.Context, request CommitRequest) (Commit, error) {
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	if err := r.checkRequest(request); err != nil {
		return Commit{}, err
	}
	if err := r.readyToWrite(ctx); err != nil {
		return Commit{}, err
	}
	base := request.Parent.tree
	if request.Parent.Hash == "" {
		base = emptyTree
	}
	w := newWriter(r.store())
	root, err := w.edit(base, request.Put, request.Delete)
	if err != nil {
		return Commit{}, r.readError(ctx, "change the files of", err)
	}
	if root == base {
		return Commit{}, &Error{Kind: ErrNothingToCommit, Op: "commit to", Where: r.Name, Detail: "all files have the wanted content already"}
	}
	content := request.encode(root)
	if request.Signer != nil {
		if content, err = sign(content, request.Signer); err != nil {
			return Commit{}, &Error{Kind: ErrDenied, Op: "sign the commit to", Where: r.Name, Detail: secret.Scrub(err.Error()), Hint: "check the signing key"}
		}
	}
	hash := w.add(plumbing.CommitObject, content)
	if err := w.flush(); err != nil {
		return Commit{}, storageError("commit to", r.Name, err)
	}
	c, err := parseCommit(hash, w.pending[hash].content)
	c.Branch = request.Parent.Branch
	return c, err
}

// readyToWrite opens the cache of a remote that was not fetched yet, for example because it is empty.
func (r *Repository) readyToWrite(ctx context.Context) error {
	if r.remote == nil || r.store() != nil {
		return nil
	}
	unlock, err := r.remote.cache.lock(ctx, r.client.progress)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = r.openCache()
	return err
}

func (r *Repository) checkRequest(request CommitRequest) error {
	e := &Error{Kind: ErrInvalid, Op: "commit to", Where: r.Name}
	switch {
	case r.folder != "":
		e.Detail, e.Hint = "a plain folder has no commits", "write the files into it instead"
	case strings.TrimSpace(request.Message) == "":
		e.Detail = "the message is empty"
	case request.Author.Name == "" || request.Author.Email == "":
		e.Detail, e.Hint = "the author has no name or no e-mail address", "name one"
	case request.When.IsZero():
		e.Detail = "the time is missing"
	default:
		return nil
	}
	return e
}

// encode returns the unsigned commit object. It removes characters from names that would end their line.
func (c CommitRequest) encode(root plumbing.Hash) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", root)
	if c.Parent.Hash != "" {
		fmt.Fprintf(&b, "parent %s\n", c.Parent.Hash)
	}
	committer := c.Committer
	if committer == (Person{}) {
		committer = c.Author
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.Author.line(c.When), committer.line(c.When))
	fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(strings.ToValidUTF8(strings.ReplaceAll(c.Message, "\x00", ""), "?"), "\n"))
	return []byte(b.String())
}

func (p Person) line(when time.Time) string {
	clean := strings.NewReplacer("<", "", ">", "")
	return fmt.Sprintf("%s <%s> %d %s", clean.Replace(secret.Line(p.Name)), clean.Replace(secret.Line(p.Email)), when.Unix(), when.Format("-0700"))
}
