package gitlab

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Auth is the kind of a token.
type Auth string

// The kinds of tokens. The zero value is a token of a user, project or group.
const (
	PrivateToken Auth = ""
	OAuthToken   Auth = "oauth"
	JobToken     Auth = "job" // CI_JOB_TOKEN
)

// Options configures the connection to a GitLab.
type Options struct {
	// URL is the address of the forge: "https://gitlab.com".
	URL string // required
	// Token needs the scope api.
	Token forge.Secret
	Auth  Auth
	// Settle is the result of [Forge.Settle].
	Settle time.Duration
	// Transport configures HTTP. New fills in the site and the credential.
	Transport transport.Config
}

// Forge is the adapter to a GitLab.
type Forge struct {
	site    forge.Site
	settle  time.Duration
	auth    Auth
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
			o.Auth.set(r.Header, o.Token)
			return nil
		}
	}
	return &Forge{site: site, settle: o.Settle, auth: o.Auth, client: rest.Client{
		Base: site.URL() + "/api/v4", HTTP: transport.New(o.Transport).Client(), Secrets: []forge.Secret{o.Token},
		Explain: explain,
	}}, nil
}

// explain refines errors: GitLab redirects reads of a moved project, and refuses to write.
func explain(_ rest.Request, _ http.Header, e *forge.Error) {
	if e.Status == http.StatusMethodNotAllowed && strings.Contains(e.Detail, "moved project") {
		e.Kind, e.Detail, e.Hint = forge.ErrNotFound, "the project moved", "update its URL"
	}
}

// set puts a token into the header for its kind.
func (a Auth) set(h http.Header, token forge.Secret) {
	switch a {
	case OAuthToken:
		h.Set("Authorization", "Bearer "+token.Reveal())
	case JobToken:
		h.Set("Job-Token", token.Reveal())
	default:
		h.Set("Private-Token", token.Reveal())
	}
}

// Kind returns [forge.GitLab].
func (f *Forge) Kind() forge.Kind { return forge.GitLab }

// Settle returns how long the checks of a new commit may take to appear.
func (f *Forge) Settle() time.Duration { return f.settle }

// Limits returns GitLab's limits.
func (f *Forge) Limits() forge.Limits {
	return forge.Limits{Title: 255, Body: 1_000_000, Comment: 1_000_000, StatusDescription: 255}
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
		Client: &f.client, Of: id, Root: rest.Path("projects", id.Path), Right: developer,
		Page: url.Values{"per_page": {strconv.Itoa(pageSize)}},
	}}
}

// Viewer returns the token's account. Empty for the token of a CI job. It is requested once.
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	if f.auth == JobToken {
		return "", nil
	}
	return f.viewer.Name(func() (string, error) {
		var u user
		err := f.client.Do(ctx, rest.Request{Op: "read own account", Where: f.site.Host, Right: "scope read_user", Path: "/user", Out: &u})
		return u.Username, err
	})
}

// CreateRepository creates an empty project of an account or in a group.
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (forge.Repository, error) {
	id := forge.ID{Host: f.site.Host, Path: n.Owner + "/" + n.Name}
	var namespace struct {
		ID int `json:"id"`
	}
	err := f.client.Do(ctx, rest.Request{
		Op: "find group", Where: f.site.Host + "/" + n.Owner, Path: rest.Path("namespaces", n.Owner), Out: &namespace,
	})
	if err != nil {
		return nil, err
	}
	visibility := "public"
	if n.Private {
		visibility = "private"
	}
	err = f.client.Do(ctx, rest.Request{
		Op: "create repository", Where: id.String(), Right: "scope api and the right to create projects in the group",
		Method: http.MethodPost, Path: "/projects", Conflict: "has already been taken",
		In: map[string]any{
			"name": n.Name, "path": n.Name, "namespace_id": namespace.ID, "description": n.Description,
			"visibility": visibility, "default_branch": cmp.Or(n.DefaultBranch, "main"), "initialize_with_readme": false,
		},
	})
	if err != nil {
		return nil, err
	}
	return f.repository(id), nil
}

// user is an account as the API describes it.
type user struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
}

// name returns an account's name. Empty if the account was deleted.
func (u *user) name() string {
	if u == nil {
		return ""
	}
	return u.Username
}
