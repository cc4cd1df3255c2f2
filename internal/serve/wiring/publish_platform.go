package wiring

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// platformPublisher publishes the merged commits of environments whose GitOpsRepo says where to.
type platformPublisher struct {
	publishing[environmentAt]
	// version is that of this program.
	version string
}

// environmentAt is an environment of a control plane.
type environmentAt struct{ controlPlane, environment string }

// newPlatformPublisher returns a publisher to public addresses and listed hosts only: a control plane names the registry, and must not make the server
// send requests to its own network.
func newPlatformPublisher(config *serve.Config, version string, env func(name string) string) (*platformPublisher, error) {
	hosts := slices.Clone(config.Verify.Hosts)
	for _, address := range []string{config.Publish.To, config.URL} {
		if at, err := url.Parse(address); err == nil && at.Hostname() != "" {
			hosts = append(hosts, at.Hostname())
		}
	}
	client := (&verify.Runner{Hosts: hosts}).Client()
	client.Timeout = publishTime
	p := &platformPublisher{version: version}
	p.client = &remote.Client{HTTP: client, Credential: remote.EnvironmentCredential(env), PlainHTTP: onThisMachine}
	var err error
	p.key, err = publishKey(config.Publish)
	return p, err
}

// publish publishes the merged commit that a round found, unless it was published before. What fails is a problem of the round's outcome.
func (f *Flows) publish(ctx context.Context, controlPlane, environment string, o *schedule.Outcome) {
	if f.publisher == nil || o.Loaded == nil || o.Plan == nil || o.Head == "" {
		return
	}
	repo := o.Loaded.Snapshot.GitOps
	if repo == nil || repo.Publish == "" {
		return
	}
	did, err := f.publisher.once(environmentAt{controlPlane, environment}, o.Head+" "+repo.Publish, func() (string, error) {
		to, err := registry.Parse(repo.Publish)
		if err != nil {
			return "", err
		}
		versions := &schedule.Versions{
			Drafter: schedule.Drafter{Loader: f.loader(), Charts: f.charts()}, Messages: repository.NewReader(f.Client),
			Renderer: solution.Renderer{Name: "kalypso", Version: f.publisher.version},
		}
		merged, err := versions.Merged(ctx, schedule.Request{ControlPlane: controlPlane, Environment: environment}, o.Head)
		if err != nil {
			return "", err
		}
		return f.publisher.store(ctx, merged.Version, to, !merged.Rings)
	})
	switch {
	case did != "":
		o.Did = append(o.Did, did)
	case err != nil && !errors.Is(err, schedule.ErrNothingMerged) && ctx.Err() == nil:
		o.Plan.Problems = fleet.SortProblems(append(slices.Clone(o.Plan.Problems), notPublished(repo, o.Head, err)))
	}
}

// notPublished is the problem of a merged commit that is not published.
func notPublished(repo *fleet.GitOpsRepo, commit string, err error) fleet.Problem {
	hint := "it is tried again by the next round"
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		hint = hinted.Hint()
	}
	return fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: fleet.KindNotPublished, Object: fleet.Ref{Kind: "GitOpsRepo"}, Position: repo.Position,
		Message: "commit " + fleet.ShortCommit(commit) + " is not published to " + repo.Publish + ": " + err.Error(), Hint: hint,
	}
}
