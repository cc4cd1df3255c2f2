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
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Options say where the forge is and who may look.
type Options struct {
	// Dir is the folder of everything; it is created when it is missing. One process at a time uses it.
	Dir string // required
	// URL is where people and programs reach the forge: "http://localhost:8080/git". [Forge.Handler] answers below its path.
	URL string // required
	// Reserved are names that no owner of repositories has, because other pages of the same server are there. Case does not matter.
	Reserved []string
	// Places are links in front of every page: the other pages of the same server.
	Places []Place
	// Search is the address of the search of the same server, which takes what to look for as q; empty for none.
	Search string
	// Visitor says who looks at a page, and what the forms on it carry in the field csrf, for a server that signs people in
	// itself, at /-/sign-in and /-/sign-out. The form is empty when nobody is signed in. Nil means that people sign in with
	// the forge's own tokens, as git does in any case.
	Visitor func(r *http.Request) (a Account, form string, err error)
	// PublicRead lets everybody read repositories that are not private, without a token.
	PublicRead bool
	// Account is who the returned forge acts as, with all rights; empty means "kalypso".
	Account string
	// Git is the git program, version 2.38 or later; empty means the one on the PATH.
	Git string
	// MaxPush is how many bytes one push may have; 0 means 2 GiB.
	MaxPush int64
	// Timeout bounds how long a client may take for one request of git; 0 means 15 minutes.
	Timeout time.Duration
	// Log is told what nobody else can be told; nil means nobody.
	Log *slog.Logger
	// Now is the clock; nil means the machine's.
	Now func() time.Time
}

// Place is a link in the navigation.
type Place struct {
	Name, Address string
}

// limits are generous: they bound what a page has to show.
var limits = forge.Limits{Title: 250, Body: 200_000, Comment: 200_000, StatusDescription: 250}

// Forge is the embedded forge, seen by an account. It is safe for concurrent use.
type Forge struct {
	*installation
	account Account
}

// installation is what all views of a forge share.
type installation struct {
	Options
	site   forge.Site
	db     *sql.DB
	git    string
	log    *slog.Logger
	locks  locks
	events *events
	merges mergeCache
}

var (
	_ forge.Forge           = (*Forge)(nil)
	_ forge.Viewer          = (*Forge)(nil)
	_ forge.Creator         = (*Forge)(nil)
	_ forge.WebhookVerifier = (*Forge)(nil)
)

// Open opens a forge, creates it when it is new, and repairs what a sudden end may have left half done.
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

// prepareFolders creates the folders, which only their owner may read.
// What was being received when the process ended is thrown away.
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
	return now().UTC().Truncate(time.Microsecond) // as exact as the database is
}

// Close ends deliveries that wait and closes the database. Requests that are under way fail.
func (f *Forge) Close() error {
	f.events.close()
	return f.db.Close()
}

// As returns the same forge, seen by another account. Whoever has the value may do so: it is code of this process.
func (f *Forge) As(a Account) *Forge { return &Forge{f.installation, a} }

// Kind is [forge.Local].
func (f *Forge) Kind() forge.Kind { return forge.Local }

// Limits are the same for all.
func (f *Forge) Limits() forge.Limits { return limits }

// Viewer returns the account's name.
func (f *Forge) Viewer(context.Context) (string, error) { return f.account.Name, nil }

// Repository returns the repository of a URL, as a [*Repository].
func (f *Forge) Repository(url string) (forge.Repository, error) {
	id, err := f.site.Repository(url)
	if err != nil {
		return nil, err
	}
	return &Repository{forge: f, id: id}, nil
}

// at returns the repository of a path.
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
	return &forge.Error{Kind: forge.ErrInvalid, Op: "find the git program", Where: file, Detail: "it is no program", Hint: "install git"}
}
