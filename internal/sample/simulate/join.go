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

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Registrar registers clusters with a server.
type Registrar interface {
	// Register registers a cluster, unless it is registered already, and returns where it reports to.
	Register(ctx context.Context, c Cluster) (agent.Server, error)
}

// Joiner registers clusters with a join token, as the installation of a real cluster does.
// Each cluster's credential is kept in a file, so that it stays registered.
type Joiner struct {
	Server *url.URL     // required
	Token  secret.Value // may be empty when all clusters have their credentials
	// Dir is the folder of the credentials, NAME.token each, readable only for the user. // required
	Dir string
	// Labels of the clusters. Default: simulated=true.
	Labels map[string]string
	// Transport defaults to [http.DefaultTransport].
	Transport http.RoundTripper
}

const userAgent = "kalypso-simulated-clusters"

var _ Registrar = (*Joiner)(nil)

// Register registers a cluster, unless its credential exists.
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
	server := client.Client{Server: j.Server, Token: j.Token, UserAgent: userAgent, Transport: j.Transport}
	request := ingest.ClusterRequest{Name: c.Name, Memberships: c.registered(), Labels: j.Labels}
	if request.Labels == nil {
		request.Labels = c.labels()
	}
	answer, err := client.Tell[api.Credential](ctx, &server, "clusters/join", nil, request)
	if err != nil {
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

// registered returns the memberships as the server has them.
func (c Cluster) registered() []ledger.Membership {
	all := make([]ledger.Membership, len(c.Memberships))
	for i, m := range c.Memberships {
		all[i] = ledger.Membership{Environment: m.Environment, ClusterType: m.ClusterType}
	}
	return all
}

func (Cluster) labels() map[string]string { return map[string]string{"simulated": "true"} }
