package schedule

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// shelf holds repositories in memory: "<repository>/<branch>/<path>", and "<repository>/<branch>@<commit>/<path>" for
// what a branch was at an earlier commit.
type shelf struct {
	files map[string]string
	// broken are the repositories that cannot be read.
	broken map[string]error
	// meet, when it is set, is called by each reader while it reads.
	meet func(Location)

	mu    sync.Mutex
	asked []Location
}

var _ Repositories = (*shelf)(nil)

// helloFleet is the example fleet with some files replaced; an empty text removes one.
func helloFleet(t *testing.T, changes map[string]string) *shelf {
	t.Helper()
	s := &shelf{files: map[string]string{}, broken: map[string]error{}}
	err := fs.WalkDir(hellofleet.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(hellofleet.Files(), name)
		s.files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range changes {
		s.files[name] = content
		if content == "" {
			delete(s.files, name)
		}
	}
	return s
}

func (s *shelf) load(t *testing.T, r Request) *Loaded {
	t.Helper()
	if r.ControlPlane == "" {
		r.ControlPlane = "control-plane"
	}
	l := Loader{Repositories: s}
	loaded, err := l.Load(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func commitOf(at string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(at))) }

// branch returns the name of a branch on the shelf, its files by their path, and an error where there is none.
func (s *shelf) branch(at Location) (string, map[string]string, error) {
	s.mu.Lock()
	s.asked = append(s.asked, at)
	s.mu.Unlock()
	if err := s.broken[at.Repo]; err != nil {
		return "", nil, err
	}
	name := at.Folder
	if name == "" {
		branch := at.Branch
		if branch == "" {
			branch = DefaultBase
		}
		name = at.Repo + "/" + branch
		if at.Commit != "" {
			name += "@" + at.Commit
		}
	}
	files := map[string]string{}
	for key, content := range s.files {
		if rest, ok := strings.CutPrefix(key, name+"/"); ok {
			files[rest] = content
		}
	}
	if len(files) == 0 {
		return name, nil, fmt.Errorf("%w: %s", ErrNoBranch, name)
	}
	return name, files, nil
}

func (s *shelf) Source(_ context.Context, at Location) (fleet.Source, error) {
	if s.meet != nil {
		s.meet(at)
	}
	name, files, err := s.branch(at)
	if err != nil {
		return fleet.Source{}, err
	}
	source := fleet.Source{Repo: at.Repo, Branch: at.Branch}
	if at.Folder == "" {
		source.Commit = commitOf(name)
		source.Time = time.Unix(int64(len(name)), 0)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(file, ".yaml") && (at.Path == "" || strings.HasPrefix(file, at.Path+"/")) {
			source.Files = append(source.Files, fleettest.File(file, files[file]))
		}
	}
	return source, nil
}

func (s *shelf) Files(_ context.Context, at Location) ([]fleet.File, error) {
	_, files, err := s.branch(at)
	var all []fleet.File
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(file, at.Path+"/") {
			all = append(all, fleettest.File(file, files[file]))
		}
	}
	return all, err
}

func (s *shelf) Environments(ctx context.Context, at Location) (fleet.Source, error) {
	return s.Source(ctx, at)
}

func (s *shelf) GitOps(_ context.Context, at Location) (bundle.Branch, Head, error) {
	name, files, err := s.branch(at)
	if err != nil {
		return bundle.Branch{}, Head{}, err
	}
	var all []bundle.File
	for path, content := range files {
		all = append(all, bundle.NewFile(path, []byte(content)))
	}
	branch := bundle.Branch{Top: bundle.TreeOf(all), Read: func(path string) ([]byte, error) { return []byte(files[path]), nil }}
	return branch, Head{Commit: commitOf(name)}, nil
}

func (s *shelf) Same(a, b string) bool { return a == b }

func (s *shelf) Fork(context.Context, Location, string, string) (string, error) {
	return "", errors.New("the shelf has no history")
}

// Contains says that every commit lies on its branch, but those that are called stray.
func (s *shelf) Contains(_ context.Context, _ Location, commit string) (bool, error) {
	return !strings.HasPrefix(commit, "5712a4"), nil
}

func (s *shelf) Resolve(repository, url string) (string, error) {
	if strings.HasPrefix(url, "/") {
		return "", errors.New("it is on this machine")
	}
	return path.Join(repository, url), nil
}
