package simulate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
)

// Sources reads repositories for all clusters. Concurrent lookups of a head share one request,
// and a folder is read once for each commit. It is safe for concurrent use.
type Sources struct {
	// Client opens repositories; its Map can redirect the URLs in manifests. // required
	Client *git.Client

	mu     sync.Mutex
	heads  generations[remote, *head]
	builds generations[buildID, *built]
}

// remote is a branch or a revision of a repository.
type remote struct{ url, branch, revision string }

// head is the result of the last lookup of a remote.
type head struct {
	mu     sync.Mutex
	at     time.Time
	commit git.Commit
	err    error
	// patience is the pause after a server could not be reached.
	patience time.Duration
}

// oneLookupup is the timeout for looking up a head. All clusters wait meanwhile, so a server that cannot be reached
// is retried with growing pauses.
const (
	oneLookup                         = 15 * time.Second
	shortestPatience, longestPatience = 30 * time.Second, 10 * time.Minute
)

// head returns the commit of a remote, looked up at most fresh before now.
func (s *Sources) head(ctx context.Context, r remote, now time.Time, fresh time.Duration) (git.Commit, error) {
	s.mu.Lock()
	h := s.heads.get(r)
	if h == nil {
		h = &head{}
		s.heads.put(r, h, 1)
	}
	s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.IsZero() && now.Sub(h.at) < max(fresh, h.patience) {
		return h.commit, h.err
	}
	limited, done := context.WithTimeout(ctx, oneLookup)
	defer done()
	commit, err := s.lookUp(limited, r)
	if ctx.Err() != nil {
		return git.Commit{}, ctx.Err()
	}
	h.at, h.commit, h.err = now, commit, err
	if errors.Is(err, git.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		h.patience = min(max(2*h.patience, shortestPatience), longestPatience)
	} else {
		h.patience = 0
	}
	return commit, err
}

// forget makes every head be looked up again.
func (s *Sources) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads = generations[remote, *head]{}
}

func (s *Sources) lookUp(ctx context.Context, r remote) (git.Commit, error) {
	repository, err := s.Client.Open(ctx, r.url)
	if err != nil {
		return git.Commit{}, err
	}
	if repository.IsFolder() {
		return git.Commit{}, errors.New("it is a plain folder, without commits to follow")
	}
	commit, err := repository.Resolve(ctx, r.branch, r.revision)
	// Argo CD has one field for branches, tags and commits.
	if r.revision == "" && errors.Is(err, git.ErrBranchNotFound) {
		if other, err := repository.Resolve(ctx, "", r.branch); err == nil {
			return other, nil
		}
	}
	return commit, err
}

// buildID identifies the objects built from a folder.
type buildID struct {
	url, commit string
	folder
}

// built are the objects of a folder.
type built struct {
	mu        sync.Mutex
	done      bool
	manifests []*manifest
	err       error
}

// build returns the objects of a folder of a commit. An error about their content is a [buildError].
func (s *Sources) build(ctx context.Context, url string, c git.Commit, f folder) ([]*manifest, error) {
	f.path = clean(f.path)
	id := buildID{url, c.Hash, f}
	b := s.building(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return b.manifests, b.err
	}
	repository, err := s.Client.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	manifests, err := build(ctx, repository.Tree(c), f)
	var wrong *buildError
	if err != nil && !errors.As(err, &wrong) {
		return nil, err // of the moment: worth another try
	}
	b.done, b.manifests, b.err = true, manifests, err
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builds.put(id, b, len(manifests))
	return manifests, err
}

// building returns the entry for a build, so that the first caller builds it and the others wait.
func (s *Sources) building(id buildID) *built {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.builds.get(id)
	if b == nil {
		b = &built{}
		s.builds.put(id, b, 1)
	}
	return b
}

// isRemote reports whether a URL in a manifest is on a server, as URLs on real clusters must be.
func isRemote(url string) bool {
	for _, protocol := range []string{"https://", "http://", "ssh://"} {
		if strings.HasPrefix(url, protocol) {
			return true
		}
	}
	host, _, scp := strings.Cut(url, ":")
	return scp && strings.Contains(host, "@") && !strings.ContainsAny(host, "/\\")
}
