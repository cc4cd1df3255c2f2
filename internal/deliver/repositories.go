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

// Repositories is where sources, configuration and GitOps branches are read.
type Repositories interface {
	// Source lists the YAML files at a location, without charts and what ignore files and conventions leave out.
	Source(ctx context.Context, at schedule.Location) (fleet.Source, error)
	// Files lists all files at or below a location. Errors are [schedule.ErrNoBranch] where the repository has no such branch,
	// [ErrNoRepository] where there is no repository, and any other where it cannot be read.
	// A path that does not exist has no files.
	Files(ctx context.Context, at schedule.Location) (*Files, error)
	// Contains reports whether a commit lies in the history of a branch.
	Contains(ctx context.Context, branch schedule.Location, commit string) (bool, error)
	// Fork returns the commit at which the history of a commit left that of a branch; see [schedule.Repositories].
	Fork(ctx context.Context, branch schedule.Location, ref, commit string) (string, error)
	// Resolve returns the URL that a document of a repository means by a URL that may be relative to that repository.
	Resolve(repository, url string) (string, error)
}

// ErrNoRepository says that there is no repository.
var ErrNoRepository = errors.New("no such repository")

// Files are the files of a commit, or of a plain folder.
type Files struct {
	// Branch and Commit are what was read, Time is when it was committed; zero for a plain folder.
	Branch, Commit string
	Time           time.Time
	// Entries are sorted by path.
	Entries []Entry
	// Read returns the content of one of them.
	Read func(path string) ([]byte, error)
}

// Entry is a file.
type Entry struct {
	// Path is relative to the root of the repository.
	Path string
	Hash bundle.Hash
	// Size is in bytes; -1 where it is not known.
	Size    int64
	Symlink bool
}

// read returns the content of the files that are wanted. Together they have at most [chart.MaxSize] bytes.
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

// Charts fetches charts with what they depend on.
type Charts interface {
	// Local completes the chart in a folder of a repository, whose files these are.
	Local(ctx context.Context, files []chart.File, folder string) (*Chart, error)
	// Fetch fetches a chart of a repository of charts.
	Fetch(ctx context.Context, ref app.Chart) (*Chart, error)
	// Versions returns the versions of a chart that a repository has, the newest first.
	Versions(ctx context.Context, ref app.Chart) ([]string, error)
}

// Chart is a chart that is complete.
type Chart struct {
	Files []chart.File
	// Name and Version are what was resolved, Digest identifies the content.
	Name, Version, Digest string
	// Notices say what a person should know, such as that a repository did not answer.
	Notices []string
}

// Renderer renders jobs: in this process, or in one with limits.
type Renderer interface {
	// Render renders the targets of a job that an earlier result, which may be nil, does not have. It always returns a result:
	// what could not be rendered has a problem that says why. The error is that of the context.
	Render(ctx context.Context, job *chart.Job, previous *chart.Result) (*chart.Result, error)
}

// InProcess renders in this process, which is for programs that render charts of their own.
type InProcess struct{}

var _ Renderer = InProcess{}

// Render implements [Renderer].
func (InProcess) Render(ctx context.Context, job *chart.Job, previous *chart.Result) (*chart.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return job.Run(previous), nil
}
