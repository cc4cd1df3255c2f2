package simulate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
)

// Sources reads repositories for all clusters: a head is looked up once for those who ask at about the same time,
// and a folder is read once for each commit. It is safe for concurrent use.
type Sources struct {
	// Client opens repositories; its Map can lead the addresses in manifests elsewhere. // required
	Client *git.Client

	mu     sync.Mutex
	heads  generations[remote, *head]
	builds generations[buildID, *built]
}

// remote is what a source follows: a branch, or a revision.
type remote struct{ url, branch, revision string }

// head is where a remote was when it was looked up last.
type head struct {
	mu     sync.Mutex
	at     time.Time
	commit git.Commit
	err    error
	// patience is how long a server that cannot be reached is left alone.
	patience time.Duration
}

// oneLook is how long it may take to look up a head. Everybody waits meanwhile, so a server that cannot be reached
// is asked again later and later.
const (
	oneLook                           = 15 * time.Second
	shortestPatience, longestPatience = 30 * time.Second, 10 * time.Minute
)

// head returns the commit that a remote is at, as it was at most fresh before now.
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
	limited, done := context.WithTimeout(ctx, oneLook)
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

// forget lets every head be looked up anew.
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
		return git.Commit{}, errors.New("it is a plain folder, which has no commits to follow")
	}
	commit, err := repository.Resolve(ctx, r.branch, r.revision)
	// Argo CD calls branches, tags and commits the same.
	if r.revision == "" && errors.Is(err, git.ErrBranchNotFound) {
		if other, err := repository.Resolve(ctx, "", r.branch); err == nil {
			return other, nil
		}
	}
	return commit, err
}

// buildID is all that the objects of a folder are made of.
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

// building returns the place for what is built, so that it is done once by whoever comes first.
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

// isRemote says whether an address in a manifest leads to a server, as those of real clusters have to.
func isRemote(url string) bool {
	for _, protocol := range []string{"https://", "http://", "ssh://"} {
		if strings.HasPrefix(url, protocol) {
			return true
		}
	}
	host, _, scp := strings.Cut(url, ":")
	return scp && strings.Contains(host, "@") && !strings.ContainsAny(host, "/\\")
}
