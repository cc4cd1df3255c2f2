package git

import (
	"context"
	"errors"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// remote is a repository on another machine, with its cache.
type remote struct {
	location location
	cache    cache
}

func newRemote(l location, cacheDir string) *remote {
	return &remote{location: l, cache: newCache(cacheDir, l)}
}

// discard marks the cached clone as damaged, so that the next Resolve fetches it again.
func (r *remote) discard() { r.cache.markDamaged() }

// resolveRemote fetches a branch and resolves a revision. If the cached clone is damaged,
// it is fetched again, once.
func (r *Repository) resolveRemote(ctx context.Context, branch, revision string) (Commit, error) {
	if err := r.client.sources.paused(r.remote.location); err != nil {
		return Commit{}, err
	}
	unlock, err := r.lockCache(ctx)
	if err != nil {
		return Commit{}, err
	}
	defer unlock()
	c, err := r.fetchAndResolve(ctx, branch, revision)
	if errors.Is(err, ErrCorrupt) {
		r.client.progress("cached clone of " + r.Name + " is damaged, fetching it again")
		c, err = r.fetchAndResolve(ctx, branch, revision)
	}
	if err == nil {
		r.client.sources.read(r.remote.location)
	}
	return c, err
}

// lockCache locks the cache. Another read that takes long is not waited for.
func (r *Repository) lockCache(ctx context.Context) (unlock func(), err error) {
	limit := r.client.Limits.orDefaults().Wait
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	unlock, err = r.remote.cache.lock(bounded, r.client.progress)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return nil, &Error{
			Kind: ErrUnavailable, Op: "read", Where: r.Name, Detail: "it is being read for more than " + limit.String() + " already", Hint: "try again later",
		}
	}
	return unlock, err
}

func (r *Repository) fetchAndResolve(ctx context.Context, branch, revision string) (Commit, error) {
	store, err := r.openCache()
	if err != nil {
		return Commit{}, err
	}
	conn, err := r.client.connect(ctx, r.remote.location, fetching)
	if err != nil {
		return Commit{}, err
	}
	defer conn.Close()
	if branch == "" {
		branch = defaultBranch(conn.refs)
	}
	head, ok := conn.refs.References["refs/heads/"+branch]
	if !ok {
		return Commit{}, r.noRemoteBranch(branch, conn.refs)
	}
	f := fetch{repo: r, store: store, conn: conn}
	if err := f.ensure(ctx, branch, head); err != nil {
		return Commit{}, err
	}
	at := head
	if revision != "" {
		if at, err = f.revision(ctx, branch, revision); err != nil {
			return Commit{}, err
		}
	}
	c, err := r.readCommit(ctx, at)
	c.Branch = branch
	return c, err
}

// defaultBranch returns the branch that the remote's HEAD names. Old servers only send its commit; then it is the branch
// with that commit.
func defaultBranch(refs *packp.AdvRefs) string {
	for _, symref := range refs.Capabilities.Get("symref") {
		if target, ok := strings.CutPrefix(symref, "HEAD:refs/heads/"); ok {
			return target
		}
	}
	names := branchNames(refs)
	preferred := append([]string{"main", "master"}, names...)
	for _, name := range preferred {
		if hash, ok := refs.References["refs/heads/"+name]; ok && refs.Head != nil && hash == *refs.Head {
			return name
		}
	}
	return "main"
}

func branchNames(refs *packp.AdvRefs) []string {
	var names []string
	for name := range refs.References {
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			names = append(names, branch)
		}
	}
	sort.Strings(names)
	return names
}

func (r *Repository) noRemoteBranch(branch string, refs *packp.AdvRefs) error {
	return noBranch(r.Name, branch, branchNames(refs))
}

func (r *Repository) remoteBranches(ctx context.Context) ([]string, error) {
	conn, err := r.client.connect(ctx, r.remote.location, fetching)
	if errors.Is(err, ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return branchNames(conn.refs), nil
}

// openCache opens the cached clone; a damaged one is replaced by an empty one. The cache must be locked.
func (r *Repository) openCache() (*store, error) {
	s := r.store()
	if s != nil && !r.remote.cache.damaged() {
		// Other processes may have fetched since.
		s.reindex()
		return s, nil
	}
	fresh, err := r.remote.cache.open()
	if err != nil {
		return nil, err
	}
	// The old store is not closed, since existing trees may still read from it.
	r.current.Store(fresh)
	return fresh, nil
}

// revisionBase splits a revision at the first ~ or ^.
func revisionBase(revision string) (base, rest string) {
	if i := strings.IndexAny(revision, "~^@"); i > 0 {
		return revision[:i], revision[i:]
	}
	return revision, ""
}

// revision resolves a revision by the remote's current references, ignoring names left in the cache.
func (f *fetch) revision(ctx context.Context, branch, revision string) (plumbing.Hash, error) {
	if hash, ok := parseHash(revision); ok {
		return hash, f.ensureCommit(ctx, hash)
	}
	base, rest := revisionBase(revision)
	if base == "HEAD" {
		base = defaultBranch(f.conn.refs)
	}
	for _, name := range []string{base, "refs/tags/" + base, "refs/heads/" + base} {
		hash, ok := f.conn.refs.References[name]
		if !ok {
			continue
		}
		if err := f.ensure(ctx, name, hash); err != nil {
			return hash, err
		}
		if rest == "" {
			return hash, nil
		}
		base = hash.String()
		break
	}
	// What remains is the prefix of a commit ID.
	hash, err := f.store.revision(base + rest)
	if err != nil {
		return hash, f.repo.noCommit(revision)
	}
	return hash, nil
}
