package local

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Repository is a repository as seen by an account.
type Repository struct {
	forge *Forge
	id    forge.ID
}

var (
	_ forge.Repository     = (*Repository)(nil)
	_ forge.Brancher       = (*Repository)(nil)
	_ forge.Reviewer       = (*Repository)(nil)
	_ forge.Annotator      = (*Repository)(nil)
	_ forge.Protector      = (*Repository)(nil)
	_ forge.LabelHistorian = (*Repository)(nil)
	_ forge.AutoMerger     = (*Repository)(nil)
	_ forge.Hooker         = (*Repository)(nil)
	_ forge.CodeOwned      = (*Repository)(nil)
)

// entry is a repository in the database.
type entry struct {
	id          int64
	owner, name string
	description string
	private     bool
}

func (e entry) path() string { return e.owner + "/" + e.name }

func scanRepository(s scanner) (e entry, err error) {
	err = s.Scan(&e.id, &e.owner, &e.name, &e.description, &e.private)
	return e, err
}

// ID returns the repository's ID.
func (r *Repository) ID() forge.ID { return r.id }

// CodeOwnersPath returns the path of the file with code owners.
func (r *Repository) CodeOwnersPath() string { return ".github/CODEOWNERS" }

// find returns the entry for a path. It returns [forge.ErrNotFound] if it does not exist.
func (in *installation) find(ctx context.Context, path string) (entry, error) {
	owner, name, ok := splitPath(path)
	if !ok {
		return entry{}, notFound("the repository does not exist")
	}
	e, err := scanRepository(row(ctx, in.db, "selectRepositoryAt", owner, name))
	if errors.Is(err, sql.ErrNoRows) {
		return entry{}, notFound("the repository does not exist")
	}
	return e, err
}

// mayRead reports whether an account can read a repository.
func (in *installation) mayRead(a Account, e entry) bool {
	return a.may(Read, e.path()) || (a.public && !e.private)
}

// enter returns the repository's entry if the account has a right in it.
// If the account cannot read the repository, the error is the same as if it did not exist.
func (r *Repository) enter(ctx context.Context, needed Right) (entry, error) {
	e, err := r.forge.find(ctx, r.id.Path)
	if err != nil {
		return entry{}, err
	}
	if !r.forge.mayRead(r.forge.account, e) {
		return entry{}, notFound("the repository does not exist")
	}
	if needed != Read && !r.forge.account.may(needed, e.path()) {
		return entry{}, denied(r.forge.account, needed)
	}
	return e, nil
}

// view returns what read finds in a repository, if the account can read it.
func view[T any](ctx context.Context, r *Repository, op string, read func(entry) (T, error)) (found T, err error) {
	defer r.explain(op, &err)
	e, err := r.enter(ctx, Read)
	if err != nil {
		return found, err
	}
	return read(e)
}

// write runs do with the repository's lock, if the account has a right in it.
func (r *Repository) write(ctx context.Context, needed Right, do func(entry) error) error {
	e, err := r.enter(ctx, needed)
	if err != nil {
		return err
	}
	unlock, err := r.forge.locks.lock(ctx, e.id)
	if err != nil {
		return err
	}
	defer unlock()
	return do(e)
}

func (r *Repository) explain(op string, err *error) { explain(op, r.id.String(), err) }

// who returns the account's name.
func (r *Repository) who() string { return r.forge.account.Name }

// CreateRepository creates an empty repository.
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (_ forge.Repository, err error) {
	path := n.Owner + "/" + n.Name
	defer explain("create repository", path, &err)
	if _, _, ok := splitPath(path); !ok {
		return nil, invalid("owner and name consist of letters, digits, dots, dashes and underscores")
	}
	if slices.ContainsFunc(f.Reserved, func(name string) bool { return strings.EqualFold(name, n.Owner) }) {
		return nil, invalid("repositories cannot be below " + n.Owner + ", where the server has pages of its own")
	}
	if !f.account.may(Admin, path) {
		return nil, denied(f.account, Admin)
	}
	if _, err := f.find(ctx, path); err == nil {
		return nil, conflict("it exists already")
	} else if !errors.Is(err, forge.ErrNotFound) {
		return nil, err
	}
	if err := f.initialize(n); err != nil {
		return nil, err
	}
	e := entry{owner: n.Owner, name: n.Name, description: forge.OneLine(n.Description, 500), private: n.Private}
	if _, err := f.register(ctx, e); err != nil {
		return nil, err
	}
	return f.at(path), nil
}

// initialize creates a bare repository in a temporary folder, and moves it into place when it is complete.
func (in *installation) initialize(n forge.NewRepository) error {
	branch := plumbing.NewBranchReferenceName(cmp.Or(n.DefaultBranch, "main"))
	if err := branch.Validate(); err != nil {
		return invalid("the default branch has no possible name")
	}
	beside, err := os.MkdirTemp(in.temporary(), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside) //nolint:errcheck // usually gone; cleaned up at the next start
	if _, err := git.PlainInitWithOptions(beside, &git.PlainInitOptions{
		Bare: true, InitOptions: git.InitOptions{DefaultBranch: branch},
	}); err != nil {
		return err
	}
	place := in.folder(entry{owner: n.Owner, name: n.Name})
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	if err := os.Rename(beside, place); errors.Is(err, os.ErrExist) {
		return conflict("it exists already")
	} else if err != nil {
		return err
	}
	return nil
}

// register adds a bare repository to the database. A known repository is a conflict, and stays unchanged.
func (in *installation) register(ctx context.Context, e entry) (entry, error) {
	err := row(ctx, in.db, "insertRepository", e.owner, e.name, e.description, e.private).Scan(&e.id)
	if errors.Is(err, sql.ErrNoRows) {
		return entry{}, conflict("it exists already")
	}
	return e, err
}

// folder returns a repository's folder.
func (in *installation) folder(e entry) string {
	return filepath.Join(in.repositories(), e.owner, e.name+".git")
}

// pageURL returns the address of a repository's page.
func (in *installation) pageURL(e entry, parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return in.site.URL() + "/" + strings.Join(append([]string{e.owner, e.name}, parts...), "/")
}

func (in *installation) pullRequestURL(e entry, number int) string {
	return in.pageURL(e, "pulls", strconv.Itoa(number))
}

func (in *installation) issueURL(e entry, number int) string {
	return in.pageURL(e, "issues", strconv.Itoa(number))
}
