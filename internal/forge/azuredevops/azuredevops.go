package azuredevops

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Auth is the kind of a token.
type Auth string

// The kinds of tokens. The zero value is a personal access token.
const (
	PersonalToken Auth = ""
	BearerToken   Auth = "bearer" // from Microsoft Entra or a pipeline job
)

// Options configures the connection to an Azure DevOps.
type Options struct {
	// URL is the address of the forge: "https://dev.azure.com", "https://tfs.example.com/tfs".
	URL   string // required
	Token forge.Secret
	Auth  Auth
	// Organization is where [Forge.Viewer] looks up the token's account. Without it, Viewer returns no name.
	Organization string
	// APIVersion defaults to "7.1". Older servers support lower versions only, some parts only as "7.0-preview".
	APIVersion string
	// WorkItemType is the type of work item used for issues. It defaults to "Issue".
	WorkItemType string
	// Settle is the result of [Forge.Settle].
	Settle time.Duration
	// Transport configures HTTP. New fills in the site and the credential.
	Transport transport.Config
}

// Forge is the adapter to an Azure DevOps.
type Forge struct {
	site         forge.Site
	settle       time.Duration
	client       rest.Client
	clock        transport.Clock
	version      string
	workItemType string
	organization string

	written forge.Written

	mu       sync.Mutex
	accounts map[string]identity    // our own account, by organization
	states   map[string]stateByName // of work items, by organization and project
}

// New returns a forge. It sends no request.
func New(o Options) (*Forge, error) {
	site, err := forge.ParseSite(o.URL)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(site.Host, ".visualstudio.com") {
		site = forge.Site{Scheme: "https", Host: "dev.azure.com"} // its name since 2018; URLs of repositories are rewritten to it
	}
	o.Transport.Site = site
	if !o.Token.IsZero() {
		o.Transport.Authorize = func(r *http.Request) error {
			r.Header.Set("Authorization", o.Auth.header(o.Token))
			return nil
		}
	}
	f := &Forge{
		site: site, settle: o.Settle, clock: o.Transport.Clock, organization: o.Organization, version: cmp.Or(o.APIVersion, "7.1"),
		workItemType: cmp.Or(o.WorkItemType, "Issue"), accounts: map[string]identity{}, states: map[string]stateByName{},
	}
	if f.clock == nil {
		f.clock = transport.SystemClock{}
	}
	client := transport.New(o.Transport).Client()
	client.Transport = signIn{client.Transport}
	f.client = rest.Client{
		Base: site.URL(), HTTP: client, Secrets: []forge.Secret{o.Token, forge.NewSecret(o.Auth.header(o.Token))},
		Query: url.Values{"api-version": {f.version}}, Explain: explain,
	}
	return f, nil
}

// header returns the Authorization header. A personal access token is a password without a user name.
func (a Auth) header(token forge.Secret) string {
	if a == BearerToken {
		return "Bearer " + token.Reveal()
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(":"+token.Reveal()))
}

// Kind returns [forge.AzureDevOps].
func (f *Forge) Kind() forge.Kind { return forge.AzureDevOps }

// Settle returns how long the checks of a new commit may take to appear.
func (f *Forge) Settle() time.Duration { return f.settle }

// Limits returns the limits for pull requests and for titles of work items. The limit for statuses is not documented.
func (f *Forge) Limits() forge.Limits {
	return forge.Limits{Title: 255, Body: 4000, Comment: 150_000, StatusDescription: 250}
}

// Repository returns the repository at a URL.
func (f *Forge) Repository(url string) (forge.Repository, error) {
	id, err := f.site.Repository(url)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(id.Path, "/")
	if len(parts) == 2 { // named like its project
		parts = append(parts, parts[1])
		id.Path = strings.Join(parts, "/")
	}
	if len(parts) != 3 {
		return nil, &forge.Error{
			Kind: forge.ErrInvalid, Op: "find repository", Where: id.String(), Detail: "it is not of the form organization/project/name",
			Hint: "write https://dev.azure.com/organization/project/_git/name",
		}
	}
	return f.repository(id, parts), nil
}

func (f *Forge) repository(id forge.ID, parts []string) *Repository {
	return &Repository{f, rest.Repository{
		Client: &f.client, Of: id, Root: rest.Path(parts[0], parts[1], "_apis"), Right: codeRead,
	}, parts[0], parts[1], parts[2]}
}

// CreateRepository creates an empty repository in a project. The project decides who can read it.
// The first branch pushed becomes the default branch.
func (f *Forge) CreateRepository(ctx context.Context, n forge.NewRepository) (forge.Repository, error) {
	id := forge.ID{Host: f.site.Host, Path: n.Owner + "/" + n.Name}
	parts := strings.Split(id.Path, "/")
	if len(parts) != 3 {
		return nil, &forge.Error{
			Kind: forge.ErrInvalid, Op: "create repository", Where: id.String(), Detail: "its owner is not of the form organization/project",
		}
	}
	r := f.repository(id, parts)
	return r, r.Do(ctx, rest.Request{
		Op: "create repository", Right: codeFull, Method: http.MethodPost, Path: "/git/repositories", In: map[string]any{"name": n.Name},
	})
}
