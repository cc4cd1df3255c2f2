package deliver

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Registered returns the applications of a control plane to deliver: those registered on its main branch whose source
// has a Delivery next to the Workload. Kalypso does not deliver applications without a Delivery.
//
// Problems are registrations that cannot be read. They do not affect the others.
func (l *Loader) Registered(ctx context.Context, controlPlane string) ([]Request, []fleet.Problem, error) {
	source, err := l.Repositories.Source(ctx, schedule.Location{Repo: controlPlane, Branch: schedule.DefaultBase})
	if err != nil {
		return nil, nil, fmt.Errorf("read branch %q of the control plane: %w", schedule.DefaultBase, err)
	}
	source.Name = schedule.DefaultBase
	const unknown = "whether it is delivered is not known"
	var requests []Request
	var problems []fleet.Problem
	for _, r := range fleet.Read(l.Cache, source).Registrations {
		problem := func(what string, err error) {
			problems = append(problems, fleet.Problem{
				Severity: fleet.SeverityWarning, Kind: fleet.KindUnreachable, Object: r.Ref, Position: r.Position,
				Message: fmt.Sprintf("%s: %v", what, err),
			})
		}
		url, err := l.Repositories.Resolve(controlPlane, r.Value.Spec.Workload.Repo)
		if err != nil {
			problem(unknown, err)
			continue
		}
		at := r.Value.Spec.Workload
		request := Request{Source: url, Branch: at.Branch, Path: at.Path, Workspace: r.Value.Spec.Workspace}
		for _, listed := range r.Value.Spec.Repositories {
			repository, err := l.Repositories.Resolve(controlPlane, listed)
			if err != nil {
				problem("it cannot use a repository that is listed", err)
				continue
			}
			request.Repositories = append(request.Repositories, repository)
		}
		a, err := l.Application(ctx, request, "")
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			problem(unknown, err)
			continue
		}
		if a.Written {
			request.Workload = a.Workload.Name
			requests = append(requests, request)
		}
	}
	return requests, problems, nil
}
