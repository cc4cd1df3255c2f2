package simulate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Registrar makes clusters known to a server.
type Registrar interface {
	// Register registers a cluster, unless it is already, and returns the way on which it reports.
	Register(ctx context.Context, c Cluster) (agent.Server, error)
}

// Joiner registers clusters by a join token, as the installation of a real cluster does.
// Each cluster's own credential is a file, so that a cluster that was registered once stays so.
type Joiner struct {
	Server *url.URL     // required
	Token  secret.Value // may be empty when all clusters have their credentials
	// Dir is the folder of the credentials, NAME.token each, for nobody but the user. // required
	Dir string
	// Labels are those of the clusters. Nil says that they are simulated.
	Labels map[string]string
	// Transport is the way to the server; nil means the usual one.
	Transport http.RoundTripper
}

const userAgent = "kalypso-simulated-clusters"

var _ Registrar = (*Joiner)(nil)

// Register registers a cluster, unless its credential is there.
func (j *Joiner) Register(ctx context.Context, c Cluster) (agent.Server, error) {
	c, err := c.completed()
	if err != nil { // its name becomes that of a file
		return nil, fmt.Errorf("register simulated cluster %q: %w", c.Name, err)
	}
	file := filepath.Join(j.Dir, c.Name+".token")
	if _, err = os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		err = j.join(ctx, c, file)
	}
	if err != nil {
		return nil, fmt.Errorf("register simulated cluster %q: %w", c.Name, err)
	}
	return &client.Client{Server: j.Server, TokenFile: file, UserAgent: userAgent, Transport: j.Transport}, nil
}

func (j *Joiner) join(ctx context.Context, c Cluster, file string) error {
	var answer api.Credential
	server := client.Client{Server: j.Server, Token: j.Token, UserAgent: userAgent, Transport: j.Transport}
	request := api.ClusterRequest{Name: c.Name, Memberships: c.registered(), Labels: j.Labels}
	if request.Labels == nil {
		request.Labels = c.labels()
	}
	if err := server.Post(ctx, "clusters/join", request, &answer); err != nil {
		return err
	}
	if answer.Credential == "" {
		return errors.New("the server's answer has no credential")
	}
	if err := os.MkdirAll(j.Dir, 0o700); err != nil {
		return err
	}
	return agent.WriteFile(file, []byte(answer.Credential+"\n"))
}

// registered are the memberships as servers know them.
func (c Cluster) registered() []ledger.Membership {
	all := make([]ledger.Membership, len(c.Memberships))
	for i, m := range c.Memberships {
		all[i] = ledger.Membership{Environment: m.Environment, ClusterType: m.ClusterType}
	}
	return all
}

// labels say everywhere what kind of cluster it is.
func (Cluster) labels() map[string]string { return map[string]string{"simulated": "true"} }

// InProcess registers clusters in a ledger that this process has, and puts their reports there: a server without HTTP.
type InProcess struct {
	Registrar *ingest.Registrar // required
	Intake    *ingest.Intake    // required
	// Now tells the time; nil for the clock.
	Now func() time.Time
}

var _ Registrar = (*InProcess)(nil)

// Register registers a cluster, or changes what a registered one is.
func (p *InProcess) Register(ctx context.Context, c Cluster) (agent.Server, error) {
	request := ingest.ClusterRequest{Name: c.Name, Memberships: c.registered(), Labels: c.labels()}
	if _, _, err := p.Registrar.Register(ctx, request, "simulation", p.now()); err != nil {
		return nil, fmt.Errorf("register simulated cluster %q: %w", c.Name, err)
	}
	return taker{p, c.Name}, nil
}

func (p *InProcess) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// taker takes what one cluster reports.
type taker struct {
	*InProcess
	cluster string
}

// Send implements [agent.Server].
func (t taker) Send(ctx context.Context, batch hub.ReportBatch) (hub.ReportReceipt, error) {
	return t.Intake.Take(ctx, t.cluster, &batch, t.now())
}
