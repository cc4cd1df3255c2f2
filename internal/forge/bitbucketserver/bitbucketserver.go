package bitbucketserver

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/texts"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Options configures the connection to a Bitbucket Data Center.
type Options struct {
	// URL is the address of the forge: "https://bitbucket.example.com".
	URL string // required
	// Token is an HTTP access token of a user, project or repository.
	Token forge.Secret
	// Settle is the result of [Forge.Settle].
	Settle time.Duration
	// Transport configures HTTP. New fills in the site and the credential.
	Transport transport.Config
}

// Forge is the adapter to a Bitbucket Data Center.
type Forge struct {
	site    forge.Site
	settle  time.Duration
	client  rest.Client
	viewer  rest.Viewer
	written forge.Written
	// latest are the pull requests that our writes returned.
	latest rest.Latest[pull]
}

// New returns a forge. It sends no request.
func New(o Options) (*Forge, error) {
	site, err := forge.ParseSite(o.URL)
	if err != nil {
		return nil, err
	}
	o.Transport.Site = site
	if !o.Token.IsZero() {
		o.Transport.Authorize = func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+o.Token.Reveal())
			return nil
		}
	}
	return &Forge{site: site, settle: o.Settle, client: rest.Client{
		Base: site.URL() + "/rest", HTTP: transport.New(o.Transport).Client(), Secrets: []forge.Secret{o.Token}, Explain: explain,
	}}, nil
}

// Kind returns [forge.BitbucketServer].
func (f *Forge) Kind() forge.Kind { return forge.BitbucketServer }

// Settle returns how long the checks of a new commit may take to appear.
func (f *Forge) Settle() time.Duration { return f.settle }

// Limits returns Bitbucket's limits: 32,768 characters of a text, less what labels and hidden markers add to it.
func (f *Forge) Limits() forge.Limits {
	return forge.Limits{Title: 255, Body: texts.Body, Comment: texts.Comment, StatusDescription: 255}
}

// Repository returns the repository at a URL.
func (f *Forge) Repository(raw string) (forge.Repository, error) {
	id, err := f.site.Repository(raw)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(id.Path, "/")
	switch {
	case len(parts) >= 4 && parts[0] == "projects" && parts[2] == "repos":
		parts = []string{parts[1], parts[3]} // further segments are a page of the repository
	case len(parts) >= 4 && parts[0] == "users" && parts[2] == "repos":
		parts = []string{"~" + parts[1], parts[3]}
	case len(parts) == 3 && parts[0] == "scm":
		parts = parts[1:]
	}
	if len(parts) != 2 {
		return nil, &forge.Error{
			Kind: forge.ErrInvalid, Op: "find repository", Where: id.String(), Detail: "it is not of the form scm/project/name",
			Hint: "write " + f.site.URL() + "/scm/project/name.git",
		}
	}
	return f.repository(parts[0], parts[1]), nil
}

func (f *Forge) repository(project, name string) *Repository {
	project, name = strings.ToLower(project), strings.ToLower(strings.TrimSuffix(name, ".git"))
	return &Repository{f, rest.Repository{
		Client: &f.client, Of: forge.ID{Host: f.site.Host, Path: "scm/" + project + "/" + name}, Root: api + rest.Path("projects", project, "repos", name),
		Right: readRepository, Page: url.Values{"limit": {pageSize}},
	}, project, name}
}

// Viewer returns the token's account. It is requested once. Bitbucket has no resource for it, but names the account in a header of
// each answer.
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	return f.viewer.Name(func() (string, error) {
		header := http.Header{}
		err := f.client.Do(ctx, rest.Request{
			Op: "read own account", Where: f.site.Host, Right: readRepository, Path: api + "/application-properties", Header: &header,
		})
		name, unescapeErr := url.QueryUnescape(header.Get(accountHeader))
		if unescapeErr != nil {
			name = ""
		}
		return name, err
	})
}

// accountHeader names the account of a request whose token Bitbucket knows.
const accountHeader = "X-Ausername"

// CreateRepository creates an empty repository in a project; the owner may begin with "scm/".
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (forge.Repository, error) {
	project := strings.ToLower(strings.TrimPrefix(n.Owner, "scm/"))
	r := f.repository(project, n.Name)
	err := f.client.Do(ctx, rest.Request{
		Op: "create repository", Where: r.Of.String(), Right: "PROJECT_ADMIN", Method: http.MethodPost, Path: api + rest.Path("projects", project, "repos"),
		In: map[string]any{
			"name": n.Name, "scmId": "git", "description": n.Description, "public": !n.Private, "defaultBranch": cmp.Or(n.DefaultBranch, "main"),
		},
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// explain tells a missing permission from a wrong token: both are 401, but Bitbucket knows the account of the first.
func explain(r rest.Request, header http.Header, e *forge.Error) {
	if e.Status == http.StatusUnauthorized && header.Get(accountHeader) != "" {
		e.Right, e.Hint = r.Right, "give the token this right"
	}
}
