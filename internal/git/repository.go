package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Repository is a local repository, a remote one with its cache, or a plain folder whose subfolders are branches.
// It is safe for concurrent use.
type Repository struct {
	// Name is the repository's location for users: a path, or a URL without credentials; see [Client.Elsewhere]. Do not change it.
	Name string

	client *Client
	// folder is set for a plain folder, which has no store.
	folder string
	// remote is set for a remote repository; its store is the cache, opened when it is first fetched.
	remote *remote

	// current is the store. For a remote repository it is set by the first fetch, and again when a damaged cache is replaced.
	current atomic.Pointer[store]
}

// store returns the object database. It returns nil for a plain folder, and for a remote that was not fetched yet.
func (r *Repository) store() *store { return r.current.Load() }

// Commit is a state of a repository.
type Commit struct {
	// Hash is the commit id; empty for a plain folder.
	Hash string
	// Unsigned is the ID that the commit would have without its signature. It equals Hash for unsigned commits.
	Unsigned string
	// Branch is the branch it was resolved from, never empty unless a local repository's HEAD is detached.
	Branch string
	// Time is when it was committed, Subject the first line of its message; zero for a plain folder.
	Time             time.Time
	Subject, Message string
	// Author and Email are those of the author, as the commit says without proof; empty for a plain folder.
	Author, Email string

	tree plumbing.Hash
}

// Title returns the first line of the message that says what changed. Forges begin merges with the name of a branch, and some continue with the
// title of the pull request.
func (c Commit) Title() string {
	if !strings.HasPrefix(c.Subject, "Merge ") {
		return c.Subject
	}
	if quoted := quotedTitle.FindStringSubmatch(c.Subject); quoted != nil {
		return quoted[1]
	}
	_, body, _ := strings.Cut(c.Message, "\n")
	title, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	if trailer.MatchString(title) {
		return c.Subject
	}
	return cmp.Or(secret.Line(title), c.Subject)
}

// quotedTitle matches the message with which Gitea merges.
var quotedTitle = regexp.MustCompile(`^Merge pull request '(.+)' \(#\d+\) from `)

// trailer matches a line that says something about a commit, such as "Signed-off-by: Ann".
var trailer = regexp.MustCompile(`^(See merge request|Reviewed-on:|[A-Z][A-Za-z]*(-[A-Za-z]+)+:) `)

// Short returns the abbreviated commit ID for users; "worktree" for a plain folder.
func (c Commit) Short() string {
	if c.Hash == "" {
		return "worktree"
	}
	return c.Hash[:7]
}

// Resolve returns the head of a branch, or the commit that a revision names.
//
// An empty branch means the default branch. In a local repository, its own branch comes first, then that of "origin".
// From a remote repository the branch is fetched with its history.
//
// A revision is a commit ID, whole or a unique prefix, a tag, a branch, or one of these followed by ~n and ^n;
// empty means the head. It need not be in the head's history, but it must be in the repository.
//
// The error is ErrBranchNotFound, ErrCommitNotFound or ErrEmpty; for remotes also ErrRepositoryNotFound, ErrDenied or ErrUnavailable.
func (r *Repository) Resolve(ctx context.Context, branch, revision string) (Commit, error) {
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	if r.folder != "" {
		return r.resolveFolder(branch, revision)
	}
	if err := checkBranch(branch, true); err != nil {
		return Commit{}, err
	}
	if r.remote != nil {
		return r.resolveRemote(ctx, branch, revision)
	}
	return r.resolveLocal(ctx, branch, revision)
}

// resolveLocal resolves a revision in the store.
func (r *Repository) resolveLocal(ctx context.Context, branch, revision string) (Commit, error) {
	head, branch, err := r.branchHead(branch)
	if err != nil {
		return Commit{}, err
	}
	if revision != "" {
		head, err = r.revision(revision)
		if err != nil {
			return Commit{}, err
		}
	}
	c, err := r.readCommit(ctx, head)
	if err != nil {
		return Commit{}, err
	}
	c.Branch = branch
	return c, nil
}

// branchHead returns the head of a branch and the branch's name.
func (r *Repository) branchHead(branch string) (plumbing.Hash, string, error) {
	if branch == "" {
		return r.defaultHead()
	}
	for _, name := range branchReferences(branch) {
		hash, err := r.store().reference(name)
		if err == nil {
			return hash, branch, nil
		}
		if !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return hash, "", r.corrupt(fmt.Sprintf("read branch %q of", branch), err)
		}
	}
	return plumbing.ZeroHash, "", r.noBranch(branch)
}

func branchReferences(branch string) []plumbing.ReferenceName {
	return []plumbing.ReferenceName{plumbing.NewBranchReferenceName(branch), plumbing.NewRemoteReferenceName("origin", branch)}
}

// defaultHead returns HEAD's commit and branch; in a cache, those of the remote's HEAD when it was fetched.
func (r *Repository) defaultHead() (plumbing.Hash, string, error) {
	r.store().mu.Lock()
	ref, err := r.store().own.Reference(plumbing.HEAD)
	r.store().mu.Unlock()
	if err != nil {
		return plumbing.ZeroHash, "", r.corrupt("read HEAD of", err)
	}
	if ref.Type() == plumbing.HashReference {
		return ref.Hash(), "", nil
	}
	return r.branchHead(ref.Target().Short())
}

// noBranch returns an error that lists existing branches, or says that the repository is empty.
func (r *Repository) noBranch(branch string) error {
	names, err := r.localBranches()
	if err == nil && len(names) == 0 {
		return &Error{Kind: ErrEmpty, Op: "read", Where: r.Name, Detail: "it has no commit yet", Hint: "commit something first"}
	}
	missing := noBranch(r.Name, branch, names)
	if r.remote == nil && r.fetchesSome() && plainBranch.MatchString(branch) {
		missing.Hint += fmt.Sprintf(`, but not all that its origin has: run "git fetch origin %[1]s:refs/remotes/origin/%[1]s" in it`, branch)
	}
	return missing
}

// plainBranch matches branch names that need no quoting in a shell.
var plainBranch = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// fetchesSome reports whether the repository is a clone with only some branches of its origin:
// single-branch clones, and usually shallow ones, as CI makes them.
func (r *Repository) fetchesSome() bool {
	c, err := readConfigFile(filepath.Join(r.store().common, "config"))
	if err != nil || !c.HasSection("remote") || !c.Section("remote").HasSubsection("origin") {
		return false
	}
	fetched := c.Section("remote").Subsection("origin").OptionAll("fetch")
	return r.store().shallow() || !slices.ContainsFunc(fetched, func(spec string) bool { return strings.Contains(spec, "*") })
}

func noBranch(where, branch string, names []string) *Error {
	hint := "create it, or name another"
	if len(names) > 0 {
		hint = "it has " + strings.Join(names[:min(len(names), 8)], ", ")
		if len(names) > 8 {
			hint += fmt.Sprintf(" and %d more", len(names)-8)
		}
	}
	return &Error{Kind: ErrBranchNotFound, Op: fmt.Sprintf("read branch %q of", secret.Line(branch)), Where: where, Hint: hint}
}

// Branches returns the names of the branches, sorted. It contacts a remote, but fetches nothing.
// For a local repository they include the branches of "origin".
func (r *Repository) Branches(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case r.folder != "":
		return folderBranches(r.folder)
	case r.remote != nil:
		return r.remoteBranches(ctx)
	default:
		return r.localBranches()
	}
}

func (r *Repository) localBranches() ([]string, error) {
	seen := map[string]bool{"HEAD": true}
	var branches []string
	for _, prefix := range []string{"refs/heads/", "refs/remotes/origin/"} {
		names, err := r.store().references(prefix)
		if err != nil {
			return nil, r.corrupt("list branches of", err)
		}
		for _, name := range names {
			if branch := strings.TrimPrefix(name, prefix); !seen[branch] {
				seen[branch] = true
				branches = append(branches, branch)
			}
		}
	}
	sort.Strings(branches)
	return branches, nil
}

// Remotes returns the URLs of a local repository's remotes, sorted; none for other repositories.
// They may contain credentials: pass them to [Client.Map] and [SameRepository], and do not print them without [Redact].
func (r *Repository) Remotes() ([]string, error) {
	if r.folder != "" || r.remote != nil {
		return nil, nil
	}
	return remoteURLs(r.store().common)
}

// Origin returns the URL of a local repository's remote "origin"; empty if it has none. It may contain a credential.
func (r *Repository) Origin() (string, error) {
	if r.folder != "" || r.remote != nil {
		return "", nil
	}
	c, err := readConfigFile(filepath.Join(r.store().common, "config"))
	if err != nil {
		return "", err
	}
	return c.Section("remote").Subsection("origin").Option("url"), nil
}

// MainBranch returns the branch of a local repository that is meant when a user names none. For a clone that is the default branch of its
// origin, if the clone knows it. Otherwise it is main if the repository has that branch, and else the branch that is checked out.
// It is empty for a remote repository, for which [Repository.Resolve] asks the remote, and if a commit without a branch is checked out.
func (r *Repository) MainBranch() (string, error) {
	const usual = "main"
	switch {
	case r.folder != "":
		return usual, nil
	case r.remote != nil:
		return "", nil
	}
	if ref, err := r.ownReference(plumbing.NewRemoteHEADReferenceName("origin")); err == nil && ref.Type() == plumbing.SymbolicReference {
		if branch, ok := strings.CutPrefix(ref.Target().String(), "refs/remotes/origin/"); ok {
			return branch, nil
		}
	}
	if _, _, err := r.branchHead(usual); err == nil {
		return usual, nil
	}
	return r.CheckedOut()
}

// CheckedOut returns the branch that is checked out in a local repository; empty if it is a commit without a branch, and for others.
func (r *Repository) CheckedOut() (string, error) {
	if r.folder != "" || r.remote != nil {
		return "", nil
	}
	ref, err := r.ownReference(plumbing.HEAD)
	if err != nil {
		return "", r.corrupt("read HEAD of", err)
	}
	if ref.Type() == plumbing.HashReference {
		return "", nil
	}
	return ref.Target().Short(), nil
}

func (r *Repository) ownReference(name plumbing.ReferenceName) (*plumbing.Reference, error) {
	r.store().mu.Lock()
	defer r.store().mu.Unlock()
	return r.store().own.Reference(name)
}

// IsLocal reports whether the repository is on this machine's file system.
func (r *Repository) IsLocal() bool { return r.remote == nil }

// IsFolder reports whether the repository is a plain folder, without commits.
func (r *Repository) IsFolder() bool { return r.folder != "" }

// Tree returns the files of a commit that this repository resolved.
func (r *Repository) Tree(c Commit) *Tree {
	if r.folder != "" {
		return &Tree{dir: filepath.Join(r.folder, filepath.FromSlash(c.Branch))}
	}
	return &Tree{repo: r, root: c.tree}
}

// Read returns the content of a blob by its ID. The error is ErrTooLarge if it has more than limit bytes.
// Plain folders have no blobs: read their entries through [Repository.Tree].
func (r *Repository) Read(ctx context.Context, hash string, limit int64) ([]byte, error) {
	if r.folder != "" {
		return nil, &Error{Kind: ErrInvalid, Op: "read blob " + secret.Line(hash) + " of", Where: r.Name, Detail: "a plain folder has no blobs"}
	}
	return r.readBlob(ctx, "blob "+secret.Line(hash), hash, limit)
}

func (r *Repository) readBlob(ctx context.Context, what, hash string, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, ok := parseHash(hash)
	if !ok || r.store() == nil {
		return nil, &Error{Kind: ErrInvalid, Op: fmt.Sprintf("read %q of", what), Where: r.Name, Detail: "it was not listed before"}
	}
	content, err := r.store().object(h, plumbing.BlobObject, limit)
	if err != nil {
		return nil, r.readError(ctx, fmt.Sprintf("read %q of", what), err)
	}
	return content, nil
}

// readError converts an error of the object database.
// If an object in a tree is missing, the repository is damaged, or a partial clone.
func (r *Repository) readError(ctx context.Context, op string, err error) error {
	var ours *Error
	var large tooLargeError
	switch end := ended(ctx, err); {
	case end != nil:
		return end
	case errors.As(err, &ours):
		return err
	case errors.As(err, &large):
		return &Error{Kind: ErrTooLarge, Op: op, Where: r.Name, Detail: err.Error(), Hint: "make it smaller, or keep it elsewhere"}
	case errors.Is(err, errTreeTooLarge):
		return &Error{Kind: ErrTooLarge, Op: op, Where: r.Name, Detail: err.Error()}
	case errors.Is(err, os.ErrPermission):
		return &Error{Kind: ErrDenied, Op: op, Where: r.Name, Hint: "check the permissions of the repository's files"}
	case errors.Is(err, plumbing.ErrObjectNotFound):
		err = errors.New("an object is missing")
	}
	return r.corrupt(op, err)
}

func (r *Repository) corrupt(op string, err error) error {
	hint := `check it with "git fsck", or clone it again`
	if r.remote != nil {
		r.remote.discard()
		hint = "the cached clone was thrown away; run the command again"
	} else if r.store().shallow() {
		hint = `the clone is shallow; run "git fetch --unshallow" in it`
	} else if r.store().partial() {
		hint = "the clone was made with --filter and lacks objects; use a full clone"
	}
	return &Error{Kind: ErrCorrupt, Op: op, Where: r.Name, Detail: reason(err), Hint: hint}
}

func (r *Repository) close() error {
	if s := r.store(); s != nil {
		return s.close()
	}
	return nil
}

// checkBranch returns an error for names that git does not accept as a branch.
func checkBranch(branch string, allowEmpty bool) error {
	if branch == "" && allowEmpty {
		return nil
	}
	name := plumbing.NewBranchReferenceName(branch)
	if name.Validate() == nil && branch != "HEAD" && branch[0] != '-' {
		return nil
	}
	return &Error{
		Kind: ErrInvalid, Op: fmt.Sprintf("use branch %q", secret.Scrub(branch)),
		Detail: "it is not a valid branch name", Hint: "use letters, digits, dashes and single slashes",
	}
}
