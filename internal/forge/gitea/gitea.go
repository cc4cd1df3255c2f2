package gitea

import (
	"context"
	"net/http"
	"regexp"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Options configures the connection to a Gitea.
type Options struct {
	// URL is the address of the forge: "https://codeberg.org".
	URL string // required
	// Token needs the scopes write:repository, write:issue and read:user.
	Token forge.Secret
	// Transport configures HTTP. New fills in the site and the credential.
	Transport transport.Config
}

// Forge is the adapter to a Gitea or Forgejo.
type Forge struct {
	site   forge.Site
	client rest.Client

	mu     sync.Mutex
	viewer string
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
			r.Header.Set("Authorization", "token "+o.Token.Reveal())
			return nil
		}
	}
	return &Forge{site: site, client: rest.Client{
		Base: site.URL() + "/api/v1", HTTP: transport.New(o.Transport).Client(), Secrets: []forge.Secret{o.Token},
	}}, nil
}

// Kind returns [forge.Gitea].
func (f *Forge) Kind() forge.Kind { return forge.Gitea }

// Limits returns the sizes of database columns. Texts have no limit there; theirs is what users can reasonably read.
func (f *Forge) Limits() forge.Limits {
	return forge.Limits{Title: 255, Body: 262_144, Comment: 262_144, StatusDescription: 255}
}

// Repository returns the repository at a URL.
func (f *Forge) Repository(url string) (forge.Repository, error) {
	id, err := f.site.Repository(url)
	if err != nil {
		return nil, err
	}
	return &Repository{forge: f, id: id}, nil
}

// Viewer returns the token's account. It is requested once.
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.viewer == "" {
		var u user
		r := rest.Request{Op: "read own account", Where: f.site.Host, Right: "read:user", Path: "/user", Out: &u}
		if err := f.do(ctx, r); err != nil {
			return "", err
		}
		f.viewer = u.Login
	}
	return f.viewer, nil
}

// CreateRepository creates an empty repository of the token's account or of an organization.
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (forge.Repository, error) {
	branch := n.DefaultBranch
	if branch == "" {
		branch = "main"
	}
	id := forge.ID{Host: f.site.Host, Path: n.Owner + "/" + n.Name}
	viewer, err := f.Viewer(ctx)
	if err != nil {
		return nil, err
	}
	path := "/orgs" + rest.Path(n.Owner) + "/repos"
	if viewer == n.Owner {
		path = "/user/repos"
	}
	err = f.do(ctx, rest.Request{
		Op: "create repository", Where: id.String(), Right: "write:organization", Method: http.MethodPost, Path: path,
		In: map[string]any{
			"name": n.Name, "description": n.Description, "private": n.Private, "auto_init": false, "default_branch": branch,
		},
	})
	if err != nil {
		return nil, err
	}
	return &Repository{forge: f, id: id}, nil
}

// requiredScope matches Gitea's message about a missing token scope.
var requiredScope = regexp.MustCompile(`required=\[([^\]]+)\]`)

// do sends a request. Errors about missing permissions use the forge's message, which is more precise than ours.
func (f *Forge) do(ctx context.Context, r rest.Request) error {
	_, err := f.client.Do(ctx, r)
	return explain(err)
}

// user is an account as the API describes it.
type user struct {
	Login string `json:"login"`
}
