package tour

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

// Path is the address of the tour. Its forms are sent to paths below it.
const Path = sample.Root + "/tour"

// Forms protects forms with the user's session.
type Forms interface {
	// FormToken returns the token for forms; empty if no user is signed in.
	FormToken(r *http.Request) string
	// CheckForm returns an error if the form is not one of the request's session.
	CheckForm(r *http.Request) error
	// Tell stores a message for the next page.
	Tell(w http.ResponseWriter, text string)
}

// Forge is the embedded forge.
type Forge interface {
	forge.Forge
	// Sync takes in what was pushed to its repositories on the disk.
	Sync(ctx context.Context) error
}

// Tour is the guided tour of a sample with an embedded forge, simulated clusters, and the application.
type Tour struct {
	// Site is where the repositories are. // required
	Site sample.Site
	// Client reads and writes them. // required
	Client *git.Client
	// Host is the forge, to read it. As returns it as the account of a signed-in user. // required
	Host Forge
	As   func(account string) forge.Forge
	// Observer knows what runs where. // required
	Observer *query.Observer
	// Clusters are the simulated clusters. // required
	Clusters *simulate.Simulation
	// Pages has the layout, the guard and the planner. // required
	Pages *web.Pages
	Forms Forms        // required
	Log   *slog.Logger // required
	// Token is the file with the token to sign in, as users type it. // required
	Token string

	// skipped is the number of steps that users went over: the tour is at a later one.
	skipped atomic.Int32
}

// repository opens a repository of the sample in Git.
func (t *Tour) repository(ctx context.Context, name string) (*git.Repository, error) {
	return t.Client.Open(ctx, t.Site.Repository(name))
}

// hosted returns a repository of the sample on the forge.
func (t *Tour) hosted(name string) (forge.Repository, error) {
	return t.Host.Repository(t.Site.Repository(name))
}
