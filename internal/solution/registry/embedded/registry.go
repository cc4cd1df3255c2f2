package embedded

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	containers "github.com/google/go-containerregistry/pkg/registry"

	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/sqlfile"
	"github.com/kalypso-io/kalypso/internal/sqlfile/sqlitefile"
)

// Options are what a registry is made from.
type Options struct {
	// Dir is its folder, which is created. Only one process may use it. // required
	Dir string
	// Size limits all content, in bytes. // required
	Size int64
	// Admit returns a context and the name of the client of a request. The error is a [Refusal] if the client may not do it. // required
	Admit func(r *http.Request, action Action) (ctx context.Context, client string, err error)
	// Record records a push or a deletion before it is done: the repository with its tag, and the digest. After an error it is not done. // required
	Record func(ctx context.Context, action Action, subject, digest string) error
	// Needed returns what needs a solution version, which is then not deleted; empty if nothing does. Optional.
	Needed func(d *solution.Descriptor) string
	// Free returns the free space of the disk; false if it is unknown. Optional.
	Free func() (uint64, bool)
	// OnError receives errors of the disk. Optional.
	OnError func(error)
	// Log receives what happens. // required
	Log *slog.Logger
	// Now returns the time. Default: [time.Now].
	Now func() time.Time
}

// Action is what a client wants to do.
type Action string

// The actions.
const (
	Pull   Action = "pull"
	Push   Action = "push"
	Delete Action = "delete"
)

// Registry is an open registry. It is safe for concurrent use.
type Registry struct {
	o       Options
	db      *sql.DB
	library http.Handler

	// files is held while a file becomes a blob or is removed, together with its row.
	files sync.Mutex

	mu sync.Mutex
	// used is what counts towards [Options.Size].
	used    int64
	uploads map[string]*upload
	pushes  map[string]int
	// large has an element for each large manifest that is being received.
	large chan struct{}
}

const (
	blobsFolder   = "blobs"
	uploadsFolder = "uploads"
	databaseFile  = "registry.db"

	// fileCost and tagCost are what a file and a tag count, besides the bytes of the file, so that many small ones are limited as well.
	fileCost = 4 << 10
	tagCost  = 256
	// minFree is the space that stays free on the disk, for everything else that is on it.
	minFree = 512 << 20

	// unreferenced is how long a blob waits for its manifest.
	unreferenced = 24 * time.Hour
	// unnamed is how long a manifest is kept that has no tag, and no subject in its repository.
	unnamed = 7 * 24 * time.Hour
	// sweepInterval is how often unfinished uploads and unreferenced blobs are removed.
	sweepInterval = 10 * time.Minute
)

var (
	//go:embed migrations/*.sql
	migrations embed.FS
	//go:embed queries.sql
	queriesFile string

	queries = sqlfile.ParseQueries(queriesFile)
)

// Open opens the registry in a folder, and removes what a crash left there.
func Open(ctx context.Context, o Options) (*Registry, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Registry{o: o, uploads: map[string]*upload{}, pushes: map[string]int{}, large: make(chan struct{}, maxLarge)}
	s.library = containers.New(containers.WithBlobHandler(blobs{s}), containers.Logger(log.New(io.Discard, "", 0)))
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the registry in %q: %w", o.Dir, err), s.Close())
	}
	return s, nil
}

func (s *Registry) open(ctx context.Context) error {
	if err := os.RemoveAll(s.path(uploadsFolder)); err != nil {
		return err
	}
	for _, folder := range []string{uploadsFolder, blobsFolder} {
		if err := os.MkdirAll(s.path(folder), 0o700); err != nil {
			return err
		}
	}
	file := s.path(databaseFile)
	if err := sqlitefile.Create(file); err != nil {
		return err
	}
	// What a client was told to be stored is stored, even if the machine fails.
	db, err := sqlitefile.Open(file, "&_pragma=synchronous(FULL)", 4)
	if err != nil {
		return err
	}
	s.db = db
	if err := sqlitefile.Migrate(ctx, db, migrations); err != nil {
		return err
	}
	return s.tidy(ctx)
}

// Close closes the registry, when no request is served any more.
func (s *Registry) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// path returns a path in the folder.
func (s *Registry) path(elements ...string) string {
	return filepath.Join(append([]string{s.o.Dir}, elements...)...)
}

// Used returns what counts towards [Options.Size], in bytes.
func (s *Registry) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// reserve counts content before it is written.
func (s *Registry) reserve(n int64) error {
	if s.o.Free != nil {
		if free, ok := s.o.Free(); ok && free < minFree {
			return refuse(http.StatusInsufficientStorage, denied, "the disk of the server is nearly full: free some space on it")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.o.Size {
		return refuse(http.StatusInsufficientStorage, denied, "the registry is full: an administrator can raise registry.size, which is %d bytes", s.o.Size)
	}
	s.used += n
	return nil
}

// release takes back what was reserved.
func (s *Registry) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// tidy counts what is stored, and removes files that the database does not have.
func (s *Registry) tidy(ctx context.Context) error {
	known := map[string]bool{}
	err := s.each(ctx, func(scan func(...any) error) error {
		var b blob
		err := scan(&b.digest, &b.size)
		known[s.blobFile(b.digest)] = true
		s.used += b.size + fileCost
		return err
	}, "selectBlobs")
	if err != nil {
		return err
	}
	var tags int64
	if err := s.db.QueryRowContext(ctx, queries.Get("countTags")).Scan(&tags); err != nil {
		return err
	}
	s.used += tags * tagCost
	return filepath.WalkDir(s.path(blobsFolder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || known[path] {
			return err
		}
		return os.Remove(path)
	})
}

// Run removes unfinished uploads, unnamed manifests and unreferenced blobs, until the context ends.
func (s *Registry) Run(ctx context.Context) {
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Error("clean up the registry", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepInterval):
		}
	}
}

// sweep removes uploads that were abandoned, manifests that nothing names, and blobs that no manifest has.
func (s *Registry) sweep(ctx context.Context) error {
	s.expire()
	if err := s.deleteUnnamed(ctx); err != nil {
		return err
	}
	s.files.Lock()
	defer s.files.Unlock()
	var old []blob
	err := s.each(ctx, func(scan func(...any) error) error {
		var b blob
		err := scan(&b.digest, &b.size)
		old = append(old, b)
		return err
	}, "deleteUnreferenced", s.o.Now().Add(-unreferenced).Unix())
	if err != nil {
		return err
	}
	var problems []error
	for _, b := range old {
		if err := os.Remove(s.blobFile(b.digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
		s.release(b.size + fileCost)
	}
	return errors.Join(problems...)
}

// each calls do for each row of a query.
func (s *Registry) each(ctx context.Context, do func(scan func(into ...any) error) error, query string, args ...any) error {
	rows, err := s.db.QueryContext(ctx, queries.Get(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
