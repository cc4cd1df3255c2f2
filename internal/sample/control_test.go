package sample

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// newControl is a sample without clusters, and the way to it.
func newControl(t *testing.T) (Remote, *Publisher, []Repository, *bool) {
	t.Helper()
	p, all := newPublisher(t)
	if err := p.Publish(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	stopped := new(bool)
	control := &Control{
		Simulation: simulate.New(simulate.Config{}), Forge: func(Team) forge.Forge { return p.Forge }, Repositories: all,
		Token: secret.New("the token"), Stop: func() { *stopped = true },
	}
	server := httptest.NewServer(control.Handler())
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL + ControlRoot)
	if err != nil {
		t.Fatal(err)
	}
	return Remote{Client: &client.Client{Server: address, Token: secret.New("the token")}}, p, all, stopped
}

func TestMergeWaitsForThePullRequest(t *testing.T) {
	remote, p, all, _ := newControl(t)
	waiting, stop := context.WithCancel(t.Context())
	asked := 0
	remote.Client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if asked++; asked == 3 {
			stop()
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	wanted := MergeRequest{Repository: ControlPlane, Branch: "main"}
	if _, err := remote.Merge(waiting, wanted); err == nil || !strings.Contains(err.Error(), "no pull request is open") {
		t.Errorf("got %v, want what was missing when the time was up", err)
	}
	propose(t, p, all[0])
	pulls, err := remote.Pulls(t.Context())
	if err != nil || len(pulls) != 1 || pulls[0].Title != "Say hello" {
		t.Errorf("got %+v, %v", pulls, err)
	}
	merged, err := remote.Merge(t.Context(), wanted)
	if err != nil || merged.Title != "Say hello" || merged.By != "kalypso" || merged.Commit == "" {
		t.Errorf("got %+v, %v", merged, err)
	}
}

// roundTrip is a way to a server.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// propose opens a change to main.
func propose(t *testing.T, p *Publisher, r Repository) {
	t.Helper()
	on, err := p.Forge.Repository(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	hello := Branch{Name: "hello", Files: map[string][]byte{"hello.txt": []byte("hello")}}
	repo, err := p.Client.Open(t.Context(), r.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.branch(t.Context(), repo, r, hello, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := on.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "hello", Base: "main", Title: "Say hello"}); err != nil {
		t.Fatal(err)
	}
}

func TestControlRefuses(t *testing.T) {
	remote, _, _, stopped := newControl(t)
	for want, ask := range map[int]func() error{
		http.StatusNotFound: func() error {
			_, err := remote.Merge(t.Context(), MergeRequest{Repository: "shop", Branch: "main"})
			return err
		},
		http.StatusUnauthorized: func() error {
			return Remote{Client: &client.Client{Server: remote.Client.Server}}.Stop(t.Context())
		},
	} {
		var refusal *client.Refusal
		if err := ask(); !errors.As(err, &refusal) || refusal.Status != want {
			t.Errorf("got %v, want %d", err, want)
		}
	}
	if _, err := remote.Greetings(t.Context(), "large"); err == nil || *stopped {
		t.Errorf("got %v, stopped %v", err, *stopped)
	}
	if err := remote.Stop(t.Context()); err != nil || !*stopped {
		t.Errorf("got %v, stopped %v", err, *stopped)
	}
}
