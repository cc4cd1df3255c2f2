package wiring

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// world is the hello fleet on a forge, with the flows of a server.
type world struct {
	*fleettest.Fleet
	flows *Flows
}

// newWorld returns the fleet on a local forge.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newEmptyWorld(t)
	for _, name := range fleettest.Repositories {
		w.Create(name)
	}
	w.PushExample()
	return w
}

// newEmptyWorld returns a local forge without repositories.
func newEmptyWorld(t testing.TB) *world {
	t.Helper()
	f, host := fleettest.NewLocal(t)
	w := &world{Fleet: f, flows: newFlows(t)}
	w.flows.serveLocally(host, git.Mapping{From: f.URL, To: f.Dir})
	return w
}

// newGiteaWorld returns the fleet on a Gitea. Git reads its repositories in place; only the API goes over HTTP.
func newGiteaWorld(t *testing.T) (*world, *fleettest.Gitea) {
	t.Helper()
	f, gitea := fleettest.NewGiteaFleet(t)
	w := &world{Fleet: f, flows: newFlows(t)}
	w.flows.Client.Map = []git.Mapping{{From: f.URL, To: f.Dir}}
	w.as(gitea, giteatest.Token)
	return w, gitea
}

// newFlows returns flows without forges.
func newFlows(t testing.TB) *Flows {
	client := &git.Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }}
	t.Cleanup(func() { _ = client.Close() })
	return &Flows{
		board: &plane.Board{}, Client: client, cache: &fleet.Cache{}, memory: &schedule.Memory{},
		Commits: repository.Committer{Client: client, Author: git.Person{Name: "Kalypso", Email: "kalypso@localhost"}},
	}
}

// connected returns a control plane with what promotion reaches beside the ledger.
func (f *Flows) connected(controlPlane string) *plane.Plane {
	if f.promotion == nil {
		f.promotion = &plane.Promotion{Rings: &repository.Rings{Committer: f.Commits}, Hosts: &record.Hosts{}}
	}
	return f.plane(controlPlane)
}

// as makes the flows use another token.
func (w *world) as(g *fleettest.Gitea, token string) {
	w.Host = g.As(token)
	w.flows.Forges = forge.Forges{w.Host}
}

func (w *world) round(environment string) *schedule.Outcome {
	w.Helper()
	outcome, err := w.flows.Round(w.Context(), w.URL+"/"+fleettest.ControlPlane, environment)
	if err != nil {
		w.Fatal(err)
	}
	return outcome
}
