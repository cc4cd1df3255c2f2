package git

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// CommitRequest describes a commit: what it changes of another one.
type CommitRequest struct {
	// Parent is the commit to build on; the zero value makes a first commit, without a parent.
	Parent Commit
	// Put are files to write, by path. A file that has this content already is left alone. Executable files stay executable.
	Put map[string][]byte
	// Delete are paths of files to remove. Files that do not exist are skipped; folders that become empty vanish.
	Delete []string
	// Message is the commit message; required.
	Message string
	// Author is who made the change, Committer who made the commit; the author if empty. An author is required.
	Author, Committer Person
	// When is the time of the commit; required. The same request makes the same commit.
	When time.Time
	// Signer signs the commit; nil leaves it unsigned. Some signers make another commit of the same request; see [Signer].
	Signer Signer
}

// Person is a name and an e-mail address.
type Person struct{ Name, Email string }

// Commit writes a commit and what it needs into the repository, of a remote repository into its cache.
// No branch leads to it until [Repository.Push] moves one.
// Only what changes is read and written. Changes that change nothing are an ErrNothingToCommit,
// unsafe or contradicting paths an ErrInvalid; plain folders cannot be committed to.
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

// readyToWrite opens the cache of a remote that nothing was read from yet, as it is with an empty one.
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

// encode writes the commit object, unsigned. Names are cleaned of what would end their line early.
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
