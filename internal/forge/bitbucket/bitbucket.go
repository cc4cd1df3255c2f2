package bitbucket

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/texts"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Options configures the connection to Bitbucket Cloud.
type Options struct {
	// URL is the address of the forge: "https://bitbucket.org".
	URL string // required
	// User is the account of an API token, an address, or of an app password. It is empty for access tokens of repositories, projects and
	// workspaces.
	User  string
	Token forge.Secret
	// Settle is the result of [Forge.Settle].
	Settle time.Duration
	// Transport configures HTTP. New fills in the site and the credential.
	Transport transport.Config
}

// Forge is the adapter to Bitbucket Cloud.
type Forge struct {
	site    forge.Site
	settle  time.Duration
	client  rest.Client
	viewer  rest.Viewer
	written forge.Written
	// latest are the pull requests that our writes returned.
	latest  rest.Latest[pull]
	commits commits
}

// New returns a forge. It sends no request.
func New(o Options) (*Forge, error) {
	site, err := forge.ParseSite(o.URL)
	if err != nil {
		return nil, err
	}
	base := site.URL() + "/2.0"
	if site.Host == "bitbucket.org" {
		o.Transport.APIHost = "api.bitbucket.org"
		base = "https://api.bitbucket.org/2.0"
	}
	o.Transport.Site = site
	authorization := "Bearer " + o.Token.Reveal()
	if o.User != "" {
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Token.Reveal()))
	}
	if !o.Token.IsZero() {
		o.Transport.Authorize = func(r *http.Request) error {
			r.Header.Set("Authorization", authorization)
			return nil
		}
	}
	return &Forge{site: site, settle: o.Settle, client: rest.Client{
		Base: base, HTTP: transport.New(o.Transport).Client(), Secrets: []forge.Secret{o.Token, forge.NewSecret(authorization)},
		Explain: explain,
	}}, nil
}

// Kind returns [forge.Bitbucket].
func (f *Forge) Kind() forge.Kind { return forge.Bitbucket }

// Settle returns how long the checks of a new commit may take to appear.
func (f *Forge) Settle() time.Duration { return f.settle }

// Limits returns limits that the API accepts, less what labels and hidden markers add to a text. They are not documented.
func (f *Forge) Limits() forge.Limits {
	return forge.Limits{Title: 255, Body: texts.Body, Comment: texts.Comment, StatusDescription: 250}
}

// Repository returns the repository at a URL.
func (f *Forge) Repository(raw string) (forge.Repository, error) {
	id, err := f.site.Repository(raw)
	if err != nil {
		return nil, err
	}
	if strings.Count(id.Path, "/") != 1 {
		return nil, &forge.Error{
			Kind: forge.ErrInvalid, Op: "find repository", Where: id.String(), Detail: "it is not of the form workspace/name",
			Hint: "write https://bitbucket.org/workspace/name",
		}
	}
	return f.repository(id), nil
}

func (f *Forge) repository(id forge.ID) *Repository {
	return &Repository{f, rest.Repository{
		Client: &f.client, Of: id, Root: rest.Path("repositories", id.Owner(), id.Name()), Right: readPullRequests,
		Page: url.Values{"pagelen": {pageSize}},
	}}
}

// Viewer returns the ID of the token's account; empty for a token that has none, or may not read it. It is requested once.
func (f *Forge) Viewer(ctx context.Context) (string, error) {
	return f.viewer.Name(func() (string, error) {
		var u user
		err := f.client.Do(ctx, rest.Request{Op: "read own account", Where: f.site.Host, Right: "read:user", Path: "/user", Out: &u, MissingOK: true})
		var e *forge.Error
		if errors.As(err, &e) && e.Status == http.StatusForbidden {
			return "", nil
		}
		return u.login(), err
	})
}

// CreateRepository creates an empty repository in a workspace. Its first branch becomes the default branch.
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (forge.Repository, error) {
	r := f.repository(forge.ID{Host: f.site.Host, Path: n.Owner + "/" + n.Name})
	err := r.Do(ctx, rest.Request{
		Op: "create repository", Right: adminRepository, Method: http.MethodPost, Conflict: "already exists",
		In: map[string]any{"scm": "git", "is_private": n.Private, "description": n.Description},
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// explain names what a 404 of the API can mean as well: it hides repositories that a token may not read.
func explain(_ rest.Request, _ http.Header, e *forge.Error) {
	if e.Status == http.StatusNotFound {
		e.Hint = "check the name, and that the token may see it: an access token is only for its repository or workspace"
	}
}

// user is an account as the API describes it.
type user struct {
	UUID      string `json:"uuid"`
	AccountID string `json:"account_id"`
}

// login returns the ID of an account. Its name is not unique.
func (u *user) login() string {
	switch {
	case u == nil:
		return ""
	case u.AccountID != "":
		return u.AccountID
	}
	return u.UUID
}

// account returns the ID within Bitbucket.
func (u *user) account() string {
	if u == nil {
		return ""
	}
	return u.UUID
}

// list completes the request of a list.
func list(q rest.Request) rest.Request {
	q.Element, q.Follow = "values", follow
	return q
}

// follow asks for the next page, to which a page links. It uses only the query of the link, so that a link cannot lead elsewhere.
func follow(page map[string]json.RawMessage, query url.Values) bool {
	var link string
	if json.Unmarshal(page["next"], &link) != nil || link == "" {
		return false
	}
	next, err := url.Parse(link)
	if err != nil {
		return false
	}
	clear(query)
	for name, values := range next.Query() {
		query[name] = values
	}
	return true
}
