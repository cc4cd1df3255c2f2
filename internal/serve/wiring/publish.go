package wiring

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// publisher publishes the merged commits of applications as solution versions. Nil publishes nothing.
//
// The server's configuration says where to, and not the application, which could otherwise write with the server's credential to repositories of others.
type publisher struct {
	publishing[publishedAt]
	to registry.Reference
}

// publishedAt is an environment of an application.
type publishedAt struct {
	deliveredTo
	environment string
}

// publishing publishes versions of what an S names. S is comparable.
type publishing[S comparable] struct {
	client *remote.Client
	key    ed25519.PrivateKey

	mu sync.Mutex
	// seen are the commits that need no further look, with the reason if they cannot be published.
	seen map[S]publishedCommit
}

type publishedCommit struct {
	commit string
	err    error
}

// publishTime limits the transfer of one version, which delays the next round of its application or environment.
const publishTime = 2 * time.Minute

func newPublisher(c serve.PublishConfig, env func(name string) string) (*publisher, error) {
	if c.To == "" {
		return nil, nil
	}
	to, err := registry.Parse(c.To)
	if err != nil || to.Repository == "" || to.Tag != "" || to.Digest != "" {
		return nil, fmt.Errorf("publish.to: %q is not oci://REGISTRY/PATH", c.To)
	}
	p := &publisher{to: to}
	p.client = &remote.Client{HTTP: outbound.New(outbound.Options{Timeout: publishTime}), Credential: remote.EnvironmentCredential(env), PlainHTTP: onThisMachine}
	p.key, err = publishKey(c)
	return p, err
}

// publishKey reads the key that signs versions; nil for none.
func publishKey(c serve.PublishConfig) (ed25519.PrivateKey, error) {
	if c.KeyFile == "" {
		return nil, nil
	}
	text, err := secretfile.Read(c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("publish.keyFile: %w", err)
	}
	key, err := hub.ParseReportKey(text)
	if err != nil {
		return nil, fmt.Errorf("publish.keyFile: %w", err)
	}
	return key, nil
}

// onThisMachine reports whether a registry is used without encryption, as other programs do.
func onThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return secret.IsLoopback(host)
}

// publish publishes the merged commits of an application that were not published yet, and returns what was done and what failed.
func (d *deliveries) publish(ctx context.Context, at deliveredTo, request deliver.Request, found *deliver.Delivered) (did, problems []string) {
	if d.publisher == nil || found.App == nil {
		return nil, nil
	}
	for _, environment := range slices.Sorted(maps.Keys(found.Environments)) {
		o := found.Environments[environment]
		if o == nil || o.GitOps == nil || o.GitOps.Commit == "" || o.GitOps.Build.Commit == "" {
			continue
		}
		where, commit := publishedAt{at, environment}, o.GitOps.Commit
		said, err := d.publisher.once(where, commit, func() (string, error) {
			versions := &deliver.Versions{
				Drafter: deliver.Drafter{
					Loader: d.loader(at.controlPlane), Renderer: d.renderer, Policies: boardPolicies{d.flows.board, at.controlPlane},
				},
				Messages: repository.NewDeliveryReader(d.flows.Client), Renderer: solution.Renderer{Name: "kalypso", Version: d.version},
			}
			merged := request
			merged.GitOpsCommit = commit
			v, err := versions.Merged(ctx, deliver.VersionRequest{Request: merged, Environment: environment})
			if err != nil {
				return "", err
			}
			return d.publisher.release(ctx, v, request.Workspace)
		})
		if said != "" {
			did = append(did, environment+": "+said)
		}
		if err != nil && !errors.Is(err, serve.ErrNotRead) && ctx.Err() == nil {
			problems = append(problems, fmt.Sprintf("environment %q: publish: %v", environment, err))
		}
	}
	return did, problems
}

// once calls publish for a commit until it succeeds, or can never succeed.
func (p *publishing[S]) once(at S, commit string, publish func() (string, error)) (string, error) {
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
			p.seen = map[S]publishedCommit{}
		}
		p.seen[at] = publishedCommit{commit, err}
	}
	return said, err
}

// release stores a version in the repository of its application.
func (p *publisher) release(ctx context.Context, v *solution.Version, workspace string) (string, error) {
	return p.store(ctx, v, registry.Reference{Repository: path.Join(p.to.Repository, workspace, v.Application)}, true)
}

// store publishes a version to a repository, and says what it did. latest moves the environment's tag.
func (p *publishing[S]) store(ctx context.Context, v *solution.Version, to registry.Reference, latest bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	store, err := registry.Open(p.client, to, false)
	if err != nil {
		return "", err
	}
	released, err := store.Release(ctx, v, registry.Release{Latest: latest, Key: p.key})
	if err != nil || !released.New && !released.Moved {
		return "", err
	}
	return fmt.Sprintf("published %s as %s", to.At(released.Stored.Artifact), released.Tags[0]), nil
}
