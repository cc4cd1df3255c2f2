package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Repositories reads sources, configuration and GitOps branches.
type Repositories interface {
	// Source lists the YAML files at a location, without charts and ignored files.
	Source(ctx context.Context, at schedule.Location) (fleet.Source, error)
	// Files lists all files at or below a location. It returns [schedule.ErrNoBranch] if the repository does not have
	// the branch, [ErrNoRepository] if the repository does not exist, and other errors if it cannot be read. A path
	// that does not exist has no files.
	Files(ctx context.Context, at schedule.Location) (*Files, error)
	// Contains reports whether a commit is in the history of a branch.
	Contains(ctx context.Context, branch schedule.Location, commit string) (bool, error)
	// Fork returns the commit at which the history of a commit left that of a branch; see [schedule.Repositories].
	Fork(ctx context.Context, branch schedule.Location, ref, commit string) (string, error)
	// Resolve resolves a URL in a document of a repository; the URL may be relative to that repository.
	Resolve(repository, url string) (string, error)
}

// ErrNoRepository is returned if a repository does not exist.
var ErrNoRepository = errors.New("no such repository")

// Files are the files of a commit or plain folder.
type Files struct {
	// Branch and Commit are what was read, Time is the commit's time; zero for a plain folder.
	Branch, Commit string
	Time           time.Time
	// Entries are sorted by path.
	Entries []Entry
	// Read returns the content of one of the Entries.
	Read func(path string) ([]byte, error)
}

// Entry is a file.
type Entry struct {
	// Path is relative to the root of the repository.
	Path string
	Hash bundle.Hash
	// Size is in bytes; -1 if unknown.
	Size    int64
	Symlink bool
}

// read returns the content of the files that wanted selects. It fails if
// they have more than [chart.MaxSize] bytes in total.
func (f *Files) read(wanted func(Entry) bool) ([]chart.File, error) {
	var files []chart.File
	size := 0
	for _, e := range f.Entries {
		if !wanted(e) {
			continue
		}
		file := chart.File{Path: e.Path, Symlink: e.Symlink}
		if !e.Symlink {
			content, err := f.Read(e.Path)
			if err != nil {
				return nil, fmt.Errorf("read %q: %w", e.Path, err)
			}
			file.Content = content
		}
		if size += len(file.Content); size > chart.MaxSize || len(files) == chart.MaxFiles {
			return nil, fmt.Errorf("there is more to read than %d MiB or %d files; leave out what is not rendered", chart.MaxSize>>20, chart.MaxFiles)
		}
		files = append(files, file)
	}
	return files, nil
}

// Charts fetches charts with their dependencies.
type Charts interface {
	// Local completes the chart in a folder of a repository. files are the files of the repository.
	Local(ctx context.Context, files []chart.File, folder string) (*Chart, error)
	// Fetch fetches a chart from a chart repository.
	Fetch(ctx context.Context, ref app.Chart) (*Chart, error)
	// Versions returns the versions of a chart in a chart repository, newest first.
	Versions(ctx context.Context, ref app.Chart) ([]string, error)
}

// Chart is a chart with its dependencies.
type Chart struct {
	Files []chart.File
	// Name and Version are the resolved ones. Digest identifies the content.
	Name, Version, Digest string
	// Notices inform users, for example that a repository did not answer.
	Notices []string
}

// Renderer renders jobs, in a process with limits: charts are programs of others.
type Renderer interface {
	// Render renders the targets of a job that are not in an earlier result, which may be nil. It always returns a
	// result: targets that could not be rendered have a problem with the
	// reason. The only error is that of the context.
	Render(ctx context.Context, job *chart.Job, previous *chart.Result) (*chart.Result, error)
}
