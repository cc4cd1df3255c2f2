package gitlab

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// pipeline is a run of CI. A pipeline with the source "external" consists of statuses only, which may be ours.
type pipeline struct {
	ID        int       `json:"id"`
	Ref       string    `json:"ref"`
	Source    string    `json:"source"`
	Status    string    `json:"status"`
	URL       string    `json:"web_url"`
	UpdatedAt time.Time `json:"updated_at"`
}

// pipelines returns the newest pipeline of each source and ref of a commit, without external ones; none where CI is off.
func (r *Repository) pipelines(ctx context.Context, commit string) ([]pipeline, error) {
	type trigger struct{ source, ref string }
	seen := map[trigger]bool{}
	newest, err := rest.Select(ctx, &r.Repository, rest.Request{
		Op: "read pipelines", Path: "/pipelines", Query: url.Values{"sha": {commit}, "order_by": {"id"}, "sort": {"desc"}},
	}, func(p pipeline) pipeline { return p }, func(p pipeline) bool {
		by := trigger{p.Source, p.Ref}
		known := seen[by]
		seen[by] = true
		return !known && p.Source != "external"
	}, 0)
	if errors.Is(err, forge.ErrDenied) || errors.Is(err, forge.ErrNotFound) {
		var e *forge.Error
		if errors.As(err, &e) && e.Status != http.StatusUnauthorized {
			return nil, nil
		}
	}
	return newest, err
}

// Checks reads statuses and pipelines. A pipeline exists before its jobs do, and fails without them if its configuration is invalid.
func (r *Repository) Checks(ctx context.Context, commit string) ([]forge.Status, error) {
	statuses, err := r.Statuses(ctx, commit)
	if err != nil {
		return nil, err
	}
	pipelines, err := r.pipelines(ctx, commit)
	for _, p := range pipelines {
		statuses = append(statuses, p.check())
	}
	return statuses, err
}

func (p pipeline) check() forge.Status {
	return forge.Status{
		Context: "pipeline " + p.Source, State: status{Status: p.Status}.state(), Description: p.Status, URL: p.URL, Time: p.UpdatedAt,
	}
}
