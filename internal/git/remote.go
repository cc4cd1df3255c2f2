package git

import "context"

// remote is a repository on another machine and its cache.
type remote struct {
	location location
	dir      string
}

func newRemote(l location, cacheDir string) *remote { return &remote{location: l, dir: cacheDir} }

func (r *remote) discard() {}

func (r *Repository) resolveRemote(ctx context.Context, branch, revision string) (Commit, error) {
	return Commit{}, &Error{Kind: ErrUnavailable, Op: "fetch", Where: r.Name}
}

func (r *Repository) remoteBranches(ctx context.Context) ([]string, error) {
	return nil, &Error{Kind: ErrUnavailable, Op: "list branches of", Where: r.Name}
}
