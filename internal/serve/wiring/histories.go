package wiring

import (
	"context"
	"sync"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// histories reads the histories of the applications that the server delivers, as of the last rounds: the commit of a GitOps branch does not
// change, so that answers about it are cached.
type histories struct {
	flows *Flows
	// reading has a place for each history that is read at the same time.
	reading chan struct{}

	mu    sync.Mutex
	known map[historyKey]any
}

// historyKey is a question about a commit of a GitOps branch, and the commit of the source that says what its targets are.
type historyKey struct {
	controlPlane, subject, environment, target, source, commit string
	limit                                                      int
}

const (
	// maxHistories is how many answers are cached.
	maxHistories = 500
	// maxReading is how many histories are read at the same time. Each can take thousands of commits.
	maxReading = 2
)

func newHistories(f *Flows) *histories {
	return &histories{flows: f, reading: make(chan struct{}, maxReading)}
}

var _ query.Histories = (*histories)(nil)

// Revisions implements [query.Histories].
func (h *histories) Revisions(ctx context.Context, a *query.Application, r deliver.PastRequest) (*deliver.TargetPast, error) {
	return historyOf(ctx, h, a, r, (*deliver.Past).Revisions)
}

// Versions implements [query.Histories].
func (h *histories) Versions(ctx context.Context, a *query.Application, r deliver.PastRequest) (*deliver.EnvironmentPast, error) {
	return historyOf(ctx, h, a, r, (*deliver.Past).Versions)
}

// historyOf returns a cached answer, or reads it.
func historyOf[T any](
	ctx context.Context, h *histories, a *query.Application, r deliver.PastRequest, read func(*deliver.Past, context.Context, deliver.PastRequest) (*T, error),
) (*T, error) {
	at := h.flows.plane(a.ControlPlane)
	request, registered := at.Applications.Request(a.ControlPlane, a.Subject)
	if !registered { // another replica delivers it
		request = deliver.Request{Source: a.Source.Repository, Branch: a.Source.Branch, Path: a.Source.Path, Workload: a.Name, Workspace: a.Workspace}
	}
	key := historyKey{controlPlane: a.ControlPlane, subject: a.Subject, environment: r.Environment, target: r.Target, source: a.Source.Commit, limit: r.Limit}
	for _, e := range a.Environments {
		if e.Environment == r.Environment && e.GitOps != nil {
			key.commit = e.GitOps.Commit
		}
	}
	if known, ok := knownTo[T](h, key); ok {
		return known, nil
	}
	select {
	case h.reading <- struct{}{}:
		defer func() { <-h.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if known, ok := knownTo[T](h, key); ok { // another request read it meanwhile
		return known, nil
	}
	r.Request = request
	r.Request.GitOpsCommit = key.commit
	found, err := read(at.Past(), ctx, r)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil || len(h.known) >= maxHistories {
		h.known = map[historyKey]any{}
	}
	h.known[key] = found
	return found, nil
}

// knownTo returns a cached answer. Those about a branch without a known commit are not used again.
func knownTo[T any](h *histories, key historyKey) (*T, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.known[key].(*T)
	return known, ok && key.commit != ""
}
