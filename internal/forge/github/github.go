package github

import (
	"context"
	"net/http"
	"strings"
	"time"

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
	client  rest.Client
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
	if o.Transport.Writes == 0 { // a negative number is no limit
		o.Transport.Writes = writesPerSecond
	}
	way := transport.New(o.Transport).Client()
	if f.app != nil {
		way.Transport = refreshing{f.app, way.Transport}
	}
	way.Transport = versioned{way.Transport}
	f.client = rest.Client{Base: api, HTTP: way, Secrets: f.secrets, Explain: f.explain}
	f.graphQL = rest.Client{Base: graphQL, HTTP: way, Secrets: f.secrets, Explain: f.explain}
	return f, nil
}

// writesPerSecond is what GitHub asks for. With the transport's burst, it stays below GitHub's 80 requests a minute that create content.
// https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#pause-between-mutative-requests
const writesPerSecond = 1

// versioned asks for the version of the API that this package knows.
// https://docs.github.com/rest/about-the-rest-api/api-versions
type versioned struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (v versioned) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Github-Api-Version", "2022-11-28")
	return v.next.RoundTrip(r)
}

// endpoints returns the URLs of both APIs, and their host if it differs from the site's.
func endpoints(s forge.Site) (api, graphQL, host string) {
	if s.Host == "github.com" || strings.HasSuffix(s.Host, ".ghe.com") {
		host = "api." + s.Host
		return s.Scheme + "://" + host, s.Scheme + "://" + host, host
	}
	return s.URL() + "/api/v3", s.URL() + "/api", ""
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

func (f *Forge) repository(id forge.ID) *Repository {
	return &Repository{f, rest.Repository{Client: &f.client, Of: id, Root: rest.Path("repos", id.Owner(), id.Name()), Page: perPage}, id.Owner()}
}

// Viewer returns the account of the token or app. Empty if the token cannot read it, as in CI jobs. It is requested once.
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	return f.viewer.Name(func() (string, error) {
		if f.app != nil {
			return f.app.login(ctx)
		}
		var u user
		q := readAccount.read("/user", &u)
		q.Where = f.site.Host
		err := f.client.Do(ctx, q)
		if says(err, http.StatusForbidden, "") {
			return "", nil
		}
		return u.Login, err
	})
}

// CreateRepository creates an empty repository of the token's account or of an organization.
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (forge.Repository, error) {
	id := forge.ID{Host: f.site.Host, Path: n.Owner + "/" + n.Name}
	viewer, err := f.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	path := rest.Path("orgs", n.Owner, "repos")
	if strings.EqualFold(viewer, n.Owner) {
		path = "/user/repos"
	}
	q := createRepository.write(http.MethodPost, path, map[string]any{"name": n.Name, "description": n.Description, "private": n.Private, "auto_init": false}, nil)
	q.Where = id.String()
	if err := f.client.Do(ctx, q); err != nil {
		return nil, err
	}
	// The first branch pushed to an empty repository becomes the default branch.
	return f.repository(id), nil
}
