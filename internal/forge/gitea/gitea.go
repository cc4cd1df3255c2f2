package gitea

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"time"

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
	// Settle is the result of [Forge.Settle].
	Settle time.Duration
	// Transport configures HTTP. New fills in the site and the credential.
	Transport transport.Config
}

// Forge is the adapter to a Gitea or Forgejo.
type Forge struct {
	site    forge.Site
	settle  time.Duration
	client  rest.Client
	viewer  rest.Viewer
	written forge.Written
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
	return &Forge{site: site, settle: o.Settle, client: rest.Client{
		Base: site.URL() + "/api/v1", HTTP: transport.New(o.Transport).Client(), Secrets: []forge.Secret{o.Token},
		Explain: explain,
	}}, nil
}

// Kind returns [forge.Gitea].
func (f *Forge) Kind() forge.Kind { return forge.Gitea }

// Settle returns how long the checks of a new commit may take to appear.
func (f *Forge) Settle() time.Duration { return f.settle }

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
	return f.repository(id), nil
}

func (f *Forge) repository(id forge.ID) *Repository {
	return &Repository{f, rest.Repository{
		Client: &f.client, Of: id, Root: rest.Path("repos", id.Owner(), id.Name()), Right: writeRepository,
		Page: url.Values{"limit": {pageSize}},
	}}
}

// Viewer returns the token's account. It is requested once.
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	return f.viewer.Name(func() (string, error) {
		var u user
		err := f.client.Do(ctx, rest.Request{Op: "read own account", Where: f.site.Host, Right: "read:user", Path: "/user", Out: &u})
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
	if viewer == n.Owner {
		path = "/user/repos"
	}
	err = f.client.Do(ctx, rest.Request{
		Op: "create repository", Where: id.String(), Right: "write:organization", Method: http.MethodPost, Path: path,
		In: map[string]any{
			"name": n.Name, "description": n.Description, "private": n.Private, "auto_init": false,
			"default_branch": cmp.Or(n.DefaultBranch, "main"),
		},
	})
	if err != nil {
		return nil, err
	}
	return f.repository(id), nil
}

// requiredScope matches Gitea's message about a missing token scope.
var requiredScope = regexp.MustCompile(`required=\[([^\]]+)\]`)

// explain replaces our name of a missing permission with the forge's own, which is more precise.
func explain(_ rest.Request, _ http.Header, e *forge.Error) {
	if scope := requiredScope.FindStringSubmatch(e.Detail); scope != nil && errors.Is(e.Kind, forge.ErrDenied) {
		e.Right = scope[1]
	}
}

// user is an account as the API describes it.
type user struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}
