package plane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// publishApplication publishes the merged commits of an application that were not published yet, and returns what was
// done and what failed.
//
// The Publisher says where to, and not the application, which could otherwise write with a credential of others to
// their repositories.
func (p *Plane) publishApplication(
	ctx context.Context, at registration, request deliver.Request, found *deliver.Delivered) (did, problems []string,
) {
	publisher := p.Applications.Publisher
	if publisher == nil || found.App == nil {
		return nil, nil
	}
	for _, environment := range slices.Sorted(maps.Keys(found.Environments)) {
		o := found.Environments[environment]
		if o == nil || o.GitOps == nil || o.GitOps.Commit == "" || o.GitOps.Build.Commit == "" {
			continue
		}
		where, commit := publishedAt{at.controlPlane, at.application, environment}, o.GitOps.Commit
		said, err := publisher.once(where, commit, func() (string, error) {
			versions := &deliver.Versions{
				Drafter:  deliver.Drafter{Loader: p.ApplicationLoader(), Renderer: p.Applications.Renderer, Policies: Policies{p.Board, p.ControlPlane}},
				Messages: repository.NewDeliveryReader(p.Commits.Client),
				Renderer: solution.Renderer{Name: "kalypso", Version: publisher.Version},
			}
			merged := request
			merged.GitOpsCommit = commit
			v, err := versions.Merged(ctx, deliver.VersionRequest{Request: merged, Environment: environment})
			if err != nil {
				return "", err
			}
			to := registry.Reference{Repository: path.Join(publisher.To.Repository, request.Workspace, v.Application)}
			return publisher.store(ctx, v, to, true)
		})
		if said != "" {
			did = append(did, environment+": "+said)
		}
		if err != nil && !errors.Is(err, query.ErrNotRead) && ctx.Err() == nil {
			problems = append(problems, fmt.Sprintf("environment %q: publish: %v", environment, err))
		}
	}
	return did, problems
}
