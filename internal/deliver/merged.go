package deliver

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/solution"
)

// unrendered returns the problems of files on the branch that are not what Kalypso rendered. Files that were
// changed by hand do not count if a user wants to keep them.
func (d *Draft) unrendered() []fleet.Problem {
	if !d.keepDrift || d.GitOps.Published == nil {
		return d.GitOps.unrendered
	}
	return slices.DeleteFunc(slices.Clone(d.GitOps.unrendered), func(p fleet.Problem) bool {
		return !slices.Contains(d.GitOps.Published.Added, p.Position.File)
	})
}

// audit compares the head of the branch with what its commits render, once for each head. If nothing is left to
// change, the head has what the current commits render, so that nothing is rendered again.
func (r *round) audit(ctx context.Context) error {
	d, g := r.outcome.Draft, r.outcome.GitOps
	if g.Commit == "" || g.Location.Folder != "" || schedule.Unrendered(d.Plan.Problems) != "" {
		return nil
	}
	key := memoryKey{subject: r.outcome.App.Subject(), environment: r.request.Environment}
	known := r.Drafter.Memory.audit(key)
	messages, ok := r.Loader.Repositories.(Messages)
	switch {
	case len(d.changes) == 0:
		known = &schedule.Audit{Commit: g.Commit}
	case known.Holds(g.Commit, d.work.inputsText()):
	case !ok:
		return nil
	default:
		v := &Versions{Drafter: Drafter{Loader: r.Loader, Renderer: r.Renderer}, Messages: messages}
		request := r.request.Request
		request.GitOpsCommit = g.Commit
		_, audit, err := v.Audit(ctx, VersionRequest{Request: request, Environment: r.request.Environment})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		known = schedule.Audited(audit, err, g.Commit, d.work.inputsText())
	}
	r.Drafter.Memory.audited(key, known)
	if known.Rendered() {
		r.outcome.Rendered = g.Commit
		return nil
	}
	d.Plan.Problems = fleet.SortProblems(append(slices.Clone(d.Plan.Problems), known.Problems(ctx, r.Loader.Repositories, g.Location)...))
	return nil
}

// Audit compares a commit of the GitOps branch with what the commits render that it names, and returns where the
// branch is.
func (v *Versions) Audit(ctx context.Context, request VersionRequest) (schedule.Location, *schedule.Audit, error) {
	if err := request.check(); err != nil {
		return schedule.Location{}, nil, err
	}
	a, err := v.Loader.Application(ctx, request.Request, "")
	if err != nil {
		return schedule.Location{}, nil, err
	}
	if err := a.checkEnvironment(request.Environment); err != nil {
		return schedule.Location{}, nil, err
	}
	g, err := v.Loader.GitOps(ctx, a, request.Environment)
	if err != nil {
		return schedule.Location{}, nil, err
	}
	request.Request.GitOpsCommit = g.Commit
	at := g.Location
	at.Commit, at.Path = g.Commit, ""
	audit := &schedule.Audit{Commit: g.Commit, Inputs: g.Build.Name()}
	_, err = v.Merged(ctx, request)
	var differs *solution.NotRebuiltError
	switch {
	case errors.As(err, &differs):
		for _, d := range differs.Differences {
			audit.Files = append(audit.Files, path.Join(g.Location.Path, d.File))
		}
	case err != nil:
		return at, nil, err
	}
	if p := g.Published; p != nil {
		audit.Add(p.Added, p.Drift)
	}
	return at, audit, nil
}
