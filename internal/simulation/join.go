package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/client"
	"github.com/kalypso-io/kalypso/internal/secret"
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
	// Transport is the way to the server; nil means the usual one.
	Transport http.RoundTripper
}

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
	return &agent.Client{Server: j.Server, TokenFile: file, UserAgent: "kalypso-simulated-clusters", Transport: j.Transport}, nil
}

// joinRequest is the body of POST /api/v1/clusters/join.
type joinRequest struct {
	Name        string            `json:"name"`
	Memberships []hub.Membership  `json:"memberships"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// joinAnswer is what the server says to it.
type joinAnswer struct {
	Token string `json:"token"`
}

func (j *Joiner) join(ctx context.Context, c Cluster, file string) error {
	request := joinRequest{Name: c.Name, Labels: map[string]string{"simulated": "true"}}
	for _, m := range c.Memberships {
		request.Memberships = append(request.Memberships, hub.Membership{Environment: m.Environment, ClusterType: m.ClusterType})
	}
	var answer joinAnswer
	server := client.Client{Server: j.Server, Token: j.Token, UserAgent: "kalypso-simulated-clusters", Transport: j.Transport}
	if err := server.Post(ctx, "clusters/join", request, &answer); err != nil {
		return err
	}
	if answer.Token == "" {
		return errors.New("the server's answer has no token")
	}
	if err := os.MkdirAll(j.Dir, 0o700); err != nil {
		return err
	}
	return agent.WriteFile(file, []byte(answer.Token+"\n"))
}
