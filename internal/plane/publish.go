package plane

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// Publisher publishes merged commits as solution versions. It is safe for concurrent use.
type Publisher struct {
	// Client stores versions in registries. // required
	Client *remote.Client
	// Key signs them. Optional.
	Key ed25519.PrivateKey
	// Version is that of this program.
	Version string
	// To is where versions of applications are stored, in a repository for each. The platform's documents say where its
	// own are.
	To registry.Reference

	mu sync.Mutex
	// seen are the commits that need no further look, with the reason if they cannot be published.
	seen map[publishedAt]publishedCommit
}

// publishedAt is an environment of a control plane, or of an application that it registers.
type publishedAt struct{ controlPlane, application, environment string }

type publishedCommit struct {
	commit string
	err    error
}

// PublishTime limits the transfer of one version, which delays the next round of its application or environment.
const PublishTime = 2 * time.Minute

// once calls publish for a commit until it succeeds, or can never succeed.
func (p *Publisher) once(at publishedAt, commit string, publish func() (string, error)) (string, error) {
	p.mu.Lock()
	known, ok := p.seen[at]
	p.mu.Unlock()
	if ok && known.commit == commit {
		return "", known.err
	}
	said, err := publish()
	var not *solution.NotRebuiltError
	if err == nil || errors.As(err, &not) || errors.Is(err, registry.ErrTaken) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.seen == nil {
			p.seen = map[publishedAt]publishedCommit{}
		}
		p.seen[at] = publishedCommit{commit, err}
	}
	return said, err
}

// store publishes a version to a repository, and says what it did. latest moves the environment's tag.
func (p *Publisher) store(
	ctx context.Context, v *solution.Version, to registry.Reference, latest bool) (string, error,
) {
	ctx, cancel := context.WithTimeout(ctx, PublishTime)
	defer cancel()
	store, err := registry.Open(p.Client, to, false)
	if err != nil {
		return "", err
	}
	released, err := store.Release(ctx, v, registry.Release{Latest: latest, Key: p.Key})
	if err != nil || !released.New && !released.Moved {
		return "", err
	}
	return fmt.Sprintf("published %s as %s", to.At(released.Stored.Artifact), released.Tags[0]), nil
}

// publish publishes the merged commit that a round found, unless it was published before. What fails is a problem of
// the round's outcome.
func (p *Plane) publish(ctx context.Context, r Round, o *schedule.Outcome) {
	if p.Publisher == nil || o.Loaded == nil || o.Plan == nil || o.Head == "" || r.From != nil {
		return
	}
	repo := o.Loaded.Snapshot.GitOps
	if repo == nil || repo.Publish == "" {
		return
	}
	at := publishedAt{controlPlane: p.ControlPlane, environment: r.Environment}
	did, err := p.Publisher.once(at, o.Head+" "+repo.Publish, func() (string, error) {
		to, err := registry.Parse(repo.Publish)
		if err != nil {
			return "", err
		}
		versions := &schedule.Versions{
			Drafter: schedule.Drafter{Loader: p.Loader(), Charts: p.Charts}, Messages: repository.NewReader(p.Commits.Client),
			Renderer: solution.Renderer{Name: "kalypso", Version: p.Publisher.Version},
		}
		of := schedule.Request{ControlPlane: p.ControlPlane, Environment: r.Environment}
		merged, err := versions.Merged(ctx, of, o.Head)
		if err != nil {
			return "", err
		}
		return p.Publisher.store(ctx, merged.Version, to, !merged.Rings)
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
		Severity: fleet.SeverityWarning, Kind: fleet.KindNotPublished, Object: fleet.Ref{Kind: "GitOpsRepo"},
		Position: repo.Position,
		Message:  "commit " + fleet.ShortCommit(commit) + " is not published to " + repo.Publish + ": " + err.Error(),
		Hint:     hint,
	}
}
