package simulate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/git"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const host = "https://git.example.com"

// world is a folder of Git repositories, clusters that follow them, and a server that remembers what they report.
type world struct {
	testing.TB
	*Simulation
	dir    string
	client *git.Client
	now    time.Time
	server *server
}

func newWorld(t testing.TB, c Config) *world {
	t.Helper()
	dir := t.TempDir()
	client := &git.Client{
		CacheDir: t.TempDir(), Map: []git.Mapping{{From: host, To: dir}}, Env: func(string) string { return "" },
	}
	t.Cleanup(func() { _ = client.Close() })
	return (&world{TB: t, dir: dir, client: client}).again(c)
}

// again returns a world with the same repositories, in which nothing has happened yet.
func (w *world) again(c Config) *world {
	c.Sources = &Sources{Client: w.client}
	return &world{TB: w.TB, Simulation: New(c), dir: w.dir, client: w.client, now: noon, server: &server{}}
}

var author = git.Person{Name: "Ann", Email: "ann@example.com"}

// push replaces the files of a branch, and returns the commit.
func (w *world) push(repo, branch string, files map[string]string) string {
	w.Helper()
	content := map[string][]byte{}
	for name, text := range files {
		content[name] = []byte(text)
	}
	dir := filepath.Join(w.dir, repo)
	r, err := w.client.Open(w.Context(), dir)
	if errors.Is(err, git.ErrRepositoryNotFound) {
		w.must(git.Create(w.Context(), dir, git.CreateRequest{
			Bare: true, Author: author, When: noon, Branches: []git.NewBranch{{Name: branch, Message: "first", Files: content}},
		}))
		r, err = w.client.Open(w.Context(), dir)
		w.must(err)
		c, err := r.Resolve(w.Context(), branch, "")
		w.must(err)
		return c.Hash
	}
	w.must(err)
	return w.commit(r, branch, content)
}

func (w *world) commit(r *git.Repository, branch string, content map[string][]byte) string {
	w.Helper()
	head, err := r.Resolve(w.Context(), branch, "")
	if err != nil && !errors.Is(err, git.ErrBranchNotFound) {
		w.Fatal(err)
	}
	var gone []string
	if err == nil {
		entries, err := r.Tree(head).Files(w.Context(), "")
		w.must(err)
		for _, e := range entries {
			if _, stays := content[e.Path]; !stays {
				gone = append(gone, e.Path)
			}
		}
	}
	c, err := r.Commit(w.Context(), git.CommitRequest{Parent: head, Put: content, Delete: gone, Message: "next", Author: author, When: w.now})
	if errors.Is(err, git.ErrNothingToCommit) {
		return head.Hash
	}
	w.must(err)
	w.must(r.Push(w.Context(), branch, head.Hash, c))
	return c.Hash
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// add starts a cluster with a role for each "environment/type", or "environment/type/rings" if the environment has rings.
func (w *world) add(name string, r Reconciler, roles ...string) {
	w.Helper()
	c := Cluster{Name: name, Reconciler: r}
	for _, role := range roles {
		environment, kind, _ := strings.Cut(role, "/")
		kind, rings := strings.CutSuffix(kind, "/rings")
		c.Memberships = append(c.Memberships, Membership{
			Environment: environment, ClusterType: kind, GitOps: hub.Repository{Repo: host + "/gitops"}, Rings: rings,
		})
	}
	w.must(w.Add(c, w.server))
}

// pass lets time pass, with a step whenever there is something to do.
func (w *world) pass(d time.Duration) {
	for end := w.now.Add(d); ; {
		next := w.Step(w.Context(), w.now)
		if !w.now.Before(end) {
			return
		}
		if w.now = next; next.After(end) {
			w.now = end
		}
	}
}

// server remembers the last that was reported of each reconciler.
type server struct {
	mu      sync.Mutex
	latest  map[string]hub.Report
	batches []hub.ReportBatch
	down    bool
	resend  bool
}

var _ agent.Server = (*server)(nil)

func (s *server) Send(_ context.Context, b hub.ReportBatch) (hub.ReportReceipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.Check(); err != nil {
		return hub.ReportReceipt{}, err
	}
	if s.down {
		return hub.ReportReceipt{}, errors.New("connection refused")
	}
	s.batches = append(s.batches, b)
	if s.latest == nil {
		s.latest = map[string]hub.Report{}
	}
	for _, r := range b.Reports {
		id := fmt.Sprintf("%s %s/%s", b.Cluster, r.Kind, r.Name)
		if !s.latest[id].Observed.After(r.Observed) {
			s.latest[id] = r
		}
	}
	resend := s.resend
	s.resend = false
	return hub.ReportReceipt{Resend: resend}, nil
}

// reported returns the last report of a cluster about a reconciler: state, message and short revision.
func (w *world) reported(cluster, reconciler string) string {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	r, ok := w.server.latest[cluster+" "+reconciler]
	if !ok {
		return "nothing"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %.7s %s", r.State, r.Revision, r.Message))
}
