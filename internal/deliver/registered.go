package deliver

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
	"github.com/kalypso-io/kalypso/internal/text/secret"
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
	taken := map[string]string{} // the GitOps branches with rings, and the workloads that they belong to
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
			problems = append(problems, l.shareRings(a, &request, taken, r.Ref, r.Position)...)
			requests = append(requests, request)
		}
	}
	return requests, problems, nil
}

// shareRings refuses the rings of environments whose GitOps branch has rings of another workload: both would move the same branches, each to
// commits that the other one's rings have not run.
func (l *Loader) shareRings(a *Application, r *Request, taken map[string]string, ref fleet.Ref, at fleet.Position) []fleet.Problem {
	var problems []fleet.Problem
	for _, e := range a.Delivery.Spec.Environments {
		if e.Promotion == nil || len(e.Promotion.Rings) == 0 {
			continue
		}
		place := a.Delivery.GitOpsPlace(e.Name)
		place.Path = ""
		branch, err := l.locate(a, place)
		if err != nil {
			continue // the environment has the problem
		}
		key := repourl.Clean(branch.Repo) + " " + branch.Branch
		other, shared := taken[key]
		if !shared {
			taken[key] = a.Workload.Name
			continue
		}
		why := fmt.Sprintf("workload %q has rings on the same GitOps branch %q of %s", other, branch.Branch, secret.Redact(branch.Repo))
		if r.NoRings == nil {
			r.NoRings = map[string]string{}
		}
		const hint = "give one of them a GitOps repository or branch of its own in spec.gitops of its Delivery, or remove its rings"
		r.NoRings[e.Name] = why + "; " + hint
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindNameCollision, Object: ref, Position: at,
			Message: fmt.Sprintf("environment %q of workload %q is not rolled out: %s", e.Name, a.Workload.Name, why), Hint: hint,
		})
	}
	return problems
}
