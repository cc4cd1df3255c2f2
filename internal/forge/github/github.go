package github

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Options configures the connection to a GitHub.
type Options struct {
	// URL is the address of the forge. It defaults to "https://github.com".
	URL string
	// Token is a personal, fine-grained or CI job's token. It needs write access to contents, pull requests, issues and
	// commit statuses; and to administration, only to protect branches.
	Token forge.Secret
	// App authenticates as a GitHub App instead of a token. Optional.
	App *App
	// Settle is the result of [Forge.Settle].
	Settle time.Duration
	// Transport configures HTTP. New fills in the site and the credential.
	Transport transport.Config
}

// Forge is the adapter to a GitHub.
type Forge struct {
	site    forge.Site
	settle  time.Duration
	client  *github.Client
	graphQL rest.Client
	secrets []forge.Secret
	app     *installation // nil with a token
	viewer  rest.Viewer
	written forge.Written
}

// New returns a forge. It sends no request.
func New(o Options) (*Forge, error) {
	if o.URL == "" {
		o.URL = "https://github.com"
	}
	site, err := forge.ParseSite(o.URL)
	if err != nil {
		return nil, err
	}
	f := &Forge{site: site, settle: o.Settle}
	api, graphQL, host := endpoints(site)
	o.Transport.Site, o.Transport.APIHost = site, host
	switch {
	case o.App != nil:
		if f.app, err = newInstallation(*o.App, api, o.Transport); err != nil {
			return nil, err
		}
		o.Transport.Authorize = f.app.authorize
	case !o.Token.IsZero():
		f.secrets = []forge.Secret{o.Token}
		o.Transport.Authorize = func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+o.Token.Reveal())
			return nil
		}
	}
	way := transport.New(o.Transport).Client()
	if f.app != nil {
		way.Transport = refreshing{f.app, way.Transport}
	}
	way.Transport = bounded{way.Transport}
	f.graphQL = rest.Client{Base: graphQL, HTTP: way, Secrets: f.secrets}
	f.client, err = github.NewClient(
		github.WithHTTPClient(way), github.WithURLs(&api, &api), github.WithDisableRateLimitCheck(), github.WithUserAgent("kalypso"),
	)
	return f, err
}

// endpoints returns the URLs of both APIs, and their host if it differs from the site's.
func endpoints(s forge.Site) (api, graphQL, host string) {
	if s.Host == "github.com" || strings.HasSuffix(s.Host, ".ghe.com") {
		host = "api." + s.Host
		return s.Scheme + "://" + host + "/", s.Scheme + "://" + host, host
	}
	return s.URL() + "/api/v3/", s.URL() + "/api", ""
}

// Kind returns [forge.GitHub].
func (f *Forge) Kind() forge.Kind { return forge.GitHub }

// Settle returns how long the checks of a new commit may take to appear.
func (f *Forge) Settle() time.Duration { return f.settle }

// Limits returns the limits that the API enforces.
func (f *Forge) Limits() forge.Limits {
	return forge.Limits{Title: 256, Body: 65_536, Comment: 65_536, StatusDescription: 140}
}

// Repository returns the repository at a URL.
func (f *Forge) Repository(url string) (forge.Repository, error) {
	id, err := f.site.Repository(url)
	if err != nil {
		return nil, err
	}
	return f.repository(id), nil
}

func (f *Forge) repository(id forge.ID) *Repository { return &Repository{f, id, id.Owner(), id.Name()} }

// Viewer returns the account of the token or app. Empty if the token cannot read it, as in CI jobs. It is requested once.
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	return f.viewer.Name(func() (string, error) {
		if f.app != nil {
			return f.app.login(ctx)
		}
		u, answer, err := f.client.Users.Get(readAccount.on(ctx), "")
		if answer != nil && answer.StatusCode == http.StatusForbidden {
			return "", nil
		}
		return u.GetLogin(), f.explain(readAccount, f.site.Host, answer, err)
	})
}

// CreateRepository creates an empty repository of the token's account or of an organization.
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (forge.Repository, error) {
	id := forge.ID{Host: f.site.Host, Path: n.Owner + "/" + n.Name}
	viewer, err := f.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	organization := n.Owner
	if strings.EqualFold(viewer, n.Owner) {
		organization = ""
	}
	_, answer, err := f.client.Repositories.Create(createRepository.on(ctx), organization, &github.Repository{
		Name: &n.Name, Description: &n.Description, Private: &n.Private, AutoInit: new(false),
	})
	if err := f.explain(createRepository, id.String(), answer, err); err != nil {
		return nil, err
	}
	// The first branch pushed to an empty repository becomes the default branch.
	return f.repository(id), nil
}
