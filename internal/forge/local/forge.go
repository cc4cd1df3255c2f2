package local

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Options configures the embedded forge.
type Options struct {
	// Dir is the folder for all data. It is created if missing. Only one process can use it at a time.
	Dir string // required
	// URL is the forge's public address: "http://localhost:8080/git". [Forge.Handler] serves below its path.
	URL string // required
	// Reserved are names that owners of repositories cannot have, because the server uses them for other pages.
	// Case does not matter.
	Reserved []string
	// Places are links at the top of every page: the server's other pages.
	Places []Place
	// Search is the address of the server's search, with the query as parameter q. Optional.
	Search string
	// Visitor returns the account that views a page, and the csrf field for the page's forms. It is for a server that
	// signs users in itself, at /-/sign-in and /-/sign-out. form is empty if the user is not signed in.
	// If Visitor is nil, users sign in with the forge's own tokens, as git always does.
	Visitor func(r *http.Request) (a Account, form string, err error)
	// PublicRead reports whether the client of a request can read repositories that are not private without a token.
	// If PublicRead is nil, no client can.
	PublicRead func(r *http.Request) bool
	// Account is the account of the returned forge, with all rights. It defaults to "kalypso".
	Account string
	// Git is the git program, version 2.38 or later. It defaults to git on the PATH.
	Git string
	// MaxPush is the maximum size of a push in bytes. It defaults to 2 GiB.
	MaxPush int64
	// Timeout is the maximum time for one request of git. It defaults to 15 minutes.
	Timeout time.Duration
	// Log receives errors that no caller gets. Nil discards them.
	Log *slog.Logger
	// Now is the clock. It defaults to the system's.
	Now func() time.Time
}

// Place is a link in the navigation.
type Place struct {
	Name, Address string
}

// AddPlace adds a link to the end of the navigation. Call it before the first page is served.
func (f *Forge) AddPlace(p Place) { f.later = append(f.later, p) }

// limits are generous: they bound what a page has to show.
var limits = forge.Limits{Title: 250, Body: 200_000, Comment: 200_000, StatusDescription: 250}

// Forge is the embedded forge as seen by an account. It is safe for concurrent use.
type Forge struct {
	*installation
	account Account
}

// installation is the state that all views of a forge share.
type installation struct {
	Options
	site   forge.Site
	db     *sql.DB
	git    string
	log    *slog.Logger
	locks  locks
	events *events
	merges mergeCache
	// later are links after those of Options.Places and to the repositories.
	later []Place
	// wants are the bytes of the requests of fetches that are being served.
	wants atomic.Int64
}

var (
	_ forge.Forge           = (*Forge)(nil)
	_ forge.Viewer          = (*Forge)(nil)
	_ forge.Creator         = (*Forge)(nil)
	_ forge.WebhookVerifier = (*Forge)(nil)
)

// Open opens a forge. It creates a new one if necessary, and repairs the effects of a crash.
func Open(ctx context.Context, o Options) (f *Forge, err error) {
	defer explain("open local forge", o.Dir, &err)
	site, err := forge.ParseSite(o.URL)
	if err != nil {
		return nil, err
	}
	in := &installation{Options: o, site: site, log: o.Log}
	if in.log == nil {
		in.log = slog.New(slog.DiscardHandler)
	}
	if in.git, err = findGit(o.Git); err != nil {
		return nil, err
	}
	if err := checkGit(ctx, in.git); err != nil {
		return nil, err
	}
	if in.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if err := in.prepareFolders(); err != nil {
		return nil, err
	}
	if in.db, err = openDatabase(ctx, filepath.Join(in.Dir, "forge.db")); err != nil {
		return nil, err
	}
	in.events = newEvents(in)
	f = (&Forge{installation: in}).As(Account{Name: cmp.Or(o.Account, "kalypso"), Right: Admin})
	if err := f.recover(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepareFolders creates the folders, which only their owner can read.
// It deletes what was being received when the process ended.
func (in *installation) prepareFolders() error {
	if err := os.RemoveAll(in.temporary()); err != nil {
		return err
	}
	for _, dir := range []string{in.Dir, in.repositories(), in.temporary()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return in.prepareNeutral()
}

func (in *installation) repositories() string { return filepath.Join(in.Dir, "repos") }
func (in *installation) temporary() string    { return filepath.Join(in.Dir, "incoming") }

func (in *installation) now() time.Time {
	now := time.Now
	if in.Now != nil {
		now = in.Now
	}
	return now().UTC().Truncate(time.Microsecond) // the database's precision
}

// Close stops pending deliveries and closes the database. Requests in progress fail.
func (f *Forge) Close() error {
	f.events.close()
	return f.db.Close()
}

// As returns the same forge as seen by another account. It checks no permission: callers are code of this process.
func (f *Forge) As(a Account) *Forge { return &Forge{f.installation, a} }

// Kind returns [forge.Local].
func (f *Forge) Kind() forge.Kind { return forge.Local }

// Limits returns the forge's limits, which are the same for all.
func (f *Forge) Limits() forge.Limits { return limits }

// Viewer returns the account's name.
func (f *Forge) Viewer(context.Context) (string, error) { return f.account.Name, nil }

// Repository returns the repository at a URL, as a [*Repository].
func (f *Forge) Repository(url string) (forge.Repository, error) {
	id, err := f.site.Repository(url)
	if err != nil {
		return nil, err
	}
	return &Repository{forge: f, id: id}, nil
}

// at returns the repository at a path.
func (f *Forge) at(path string) *Repository {
	return &Repository{forge: f, id: forge.ID{Host: f.site.Host, Path: path}}
}

// findGit finds the git program, which serves clones and pushes, and merges.
func findGit(given string) (string, error) {
	if given != "" {
		return given, executable(given)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, name := range []string{"git", "git.exe"} {
			file := filepath.Join(dir, name)
			if filepath.IsAbs(file) && executable(file) == nil {
				return file, nil
			}
		}
	}
	return "", &forge.Error{
		Kind: forge.ErrInvalid, Op: "find the git program", Detail: "it is not on the PATH",
		Hint: "install git 2.38 or later, which serves clones and pushes, and merges",
	}
}

func executable(file string) error {
	info, err := os.Stat(file)
	if err == nil && !info.IsDir() && (info.Mode()&0o111 != 0 || strings.HasSuffix(file, ".exe")) {
		return nil
	}
	return &forge.Error{Kind: forge.ErrInvalid, Op: "find the git program", Where: file, Detail: "it is not a program", Hint: "install git"}
}
