package deliver

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Config is an environment's configuration at a commit.
type Config struct {
	Location schedule.Location
	Input    schedule.Input
	// Files are the files with values and expressions, by path from the root of the repository.
	Files map[string][]byte
	// Folders are the targets' folders. Their paths are relative to the folder of the configuration.
	Folders []values.Folder
}

// Config reads an environment's configuration at the head of its branch, or at the commit of the request. If there is none, it returns an error that
// lists the places where it can be, and that matches [ErrNoConfig].
func (l *Loader) Config(ctx context.Context, a *Application, environment string) (*Config, []schedule.Location, error) {
	l.progress("reading the configuration of %s", environment)
	var places []schedule.Location
	var missing []string
	for _, place := range a.configPlaces(environment) {
		at, err := l.locate(a, place)
		if err != nil {
			return nil, places, fmt.Errorf("the configuration of %s: %w", environment, err)
		}
		at.Folder, at.Commit = a.Request.ConfigFolder, a.Request.ConfigCommit
		places = append(places, at)
		files, err := l.Repositories.Files(ctx, at)
		switch {
		case errors.Is(err, schedule.ErrNoBranch):
			missing = append(missing, fmt.Sprintf("no branch %q in %s", at.Branch, secret.Redact(at.Repo)))
		case errors.Is(err, ErrNoRepository):
			missing = append(missing, fmt.Sprintf("no repository %s", secret.Redact(at.Repo)))
		case err != nil:
			return nil, places, fmt.Errorf("read the configuration of %s: %w", environment, err)
		default:
			config, err := readConfig(files, at)
			return config, places, err
		}
	}
	return nil, places, fmt.Errorf("environment %q has %w: there is %s; create the branch, or name another one in the Delivery",
		environment, ErrNoConfig, strings.Join(missing, ", and "))
}

// ErrNoConfig is returned if an environment has no configuration.
var ErrNoConfig = errors.New("no configuration")

// configPlaces returns where the configuration can be. If a folder replaces them, it returns one place only.
func (a *Application) configPlaces(environment string) []scheduler.Repository {
	places := a.Delivery.ConfigPlaces(environment, a.Request.Source)
	if a.Request.ConfigFolder != "" {
		return places[:1]
	}
	return places
}

func (l *Loader) locate(a *Application, r scheduler.Repository) (schedule.Location, error) {
	clean, err := fleet.CleanPath(r.Path)
	if err != nil {
		return schedule.Location{}, fmt.Errorf("the path %.100q: %w", r.Path, err)
	}
	repo, err := l.Repositories.Resolve(a.Request.Source, r.Repo)
	if err != nil {
		return schedule.Location{}, err
	}
	if l.Allow != nil {
		if err := l.Allow(a.Request, repo); err != nil {
			return schedule.Location{}, fmt.Errorf("%s: %w", secret.Redact(repo), err)
		}
	}
	return schedule.Location{Repo: repo, Branch: r.Branch, Path: clean}, nil
}

// maxValues is the maximum number of values files in an environment.
const maxValues = 10_000

func readConfig(files *Files, at schedule.Location) (*Config, error) {
	c := &Config{
		Location: at, Files: map[string][]byte{},
		Input: schedule.Input{Name: "config", Repo: at.Repo, Branch: files.Branch, Commit: files.Commit, Time: files.Time},
	}
	var names []string
	for _, e := range files.Entries {
		if !values.IsLayer(e.Path) || e.Symlink || strings.HasPrefix(e.Path, ".") {
			continue
		}
		if len(c.Files) == maxValues {
			return nil, fmt.Errorf("there are more than %d files of values", maxValues)
		}
		content, err := files.Read(e.Path)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", e.Path, err)
		}
		c.Files[e.Path] = content
		names = append(names, c.within(e.Path))
	}
	c.Folders = values.Folders(names)
	return c, nil
}

// String returns the place: a folder, or a branch of a repository.
func (c *Config) String() string {
	if c.Location.Folder != "" {
		return c.Location.Folder
	}
	return fmt.Sprintf("branch %q of %s", c.Location.Branch, secret.Redact(c.Location.Repo))
}

// within returns the path of a file relative to the folder of the configuration.
func (c *Config) within(file string) string {
	return strings.TrimPrefix(strings.TrimPrefix(file, c.Location.Path), "/")
}

// GitOps is the current state of the branch for an environment's manifests.
type GitOps struct {
	schedule.GitOpsBranch
	// Published is the workload's content of the branch; nil if the branch does not exist.
	Published *tree.Published
	// Build is the build that the branch was rendered from; zero if it is empty.
	Build Build

	read func(path string) ([]byte, error)
	// unrendered are the problems of files that are not what Kalypso rendered.
	unrendered []fleet.Problem
	// tracked means that the tracking files are about the application: those of a branch that others use can be about them.
	tracked bool
}

// GitOps reads what is published of an application in an environment.
func (l *Loader) GitOps(ctx context.Context, a *Application, environment string) (*GitOps, error) {
	at, err := l.gitOpsBranch(a, environment)
	if err != nil {
		return nil, err
	}
	g := &GitOps{GitOpsBranch: schedule.GitOpsBranch{Location: at}}
	at.Path = "" // the whole branch is read, which others can use, too
	l.progress("reading what is published")
	files, err := l.Repositories.Files(ctx, at)
	if errors.Is(err, schedule.ErrNoBranch) {
		return g, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the GitOps branch %q: %w", at.Branch, err)
	}
	all := make([]bundle.File, 0, len(files.Entries))
	for _, e := range files.Entries {
		all = append(all, bundle.File{Path: e.Path, Hash: e.Hash})
	}
	branch := bundle.Branch{Root: g.Location.Path, Top: bundle.TreeOf(all), Read: files.Read}
	g.Exists, g.read, g.Head = true, files.Read, schedule.Head{Commit: files.Commit, Time: files.Time}
	if g.Published, err = tree.ReadPublished(branch, a.Workload.Name); err != nil {
		return nil, err
	}
	g.Published = g.Published.Adopt(a.folders(g, environment))
	if g.tracked, err = l.tracks(ctx, a, g.Published); err != nil {
		return nil, err
	}
	g.Build = g.build()
	if g.Commit != "" {
		g.unrendered = schedule.NotRendered(ctx, l.Repositories, at, g.Published.Added, g.Published.Drift)
	}
	return g, nil
}

// gitOpsBranch returns the branch and folder for an environment's manifests.
func (l *Loader) gitOpsBranch(a *Application, environment string) (schedule.Location, error) {
	place := a.Delivery.GitOpsPlace(environment)
	root := place.Path
	place.Path = ""
	at, err := l.locate(a, place)
	if err != nil {
		return at, fmt.Errorf("the GitOps repository: %w", err)
	}
	at.Folder, at.Commit = a.Request.GitOpsFolder, a.Request.GitOpsCommit
	if at.Path, err = fleet.CleanPath(root); err != nil {
		return at, fmt.Errorf("the GitOps repository: the path %.100q: %w", root, err)
	}
	return at, nil
}

// folders returns the targets of an environment by the folders of their manifests.
func (a *Application) folders(g *GitOps, environment string) map[string]string {
	w := &work{app: a, environment: environment, gitops: g}
	folders := map[string]string{}
	for _, i := range a.targetsIn(environment) {
		folder, _ := w.place(i)
		folders[folder] = a.Workload.Spec.DeploymentTargets[i].Name
	}
	return folders
}

// tracks reports whether the tracking files of a branch are about an application. They describe the whole branch, so those of a
// branch with files of other applications are ours only if they name a commit of our source.
func (l *Loader) tracks(ctx context.Context, a *Application, published *tree.Published) (bool, error) {
	if !a.Alone || !published.Shared() {
		return a.Alone, nil
	}
	commit := commitOf(published.Tracking.Commit)
	if commit == "" || a.Request.SourceFolder != "" {
		return false, nil
	}
	ours, err := l.Repositories.Contains(ctx, schedule.Location{Repo: a.Request.Source, Branch: a.Request.Branch}, commit)
	if err != nil {
		return false, fmt.Errorf("find commit %s: %w", fleet.ShortCommit(commit), err)
	}
	return ours, nil
}

// build returns the build that the branch was rendered from: from the tracking files or, if those are not about the application,
// from its descriptors.
func (g *GitOps) build() Build {
	t := g.Published.Tracking
	if !g.tracked {
		t = g.Published.Build // recorded if a target is pinned, whose descriptor has another build
	}
	if g.tracked || t.Commit != "" {
		return Build{Commit: commitOf(t.Commit), Version: t.Version, Image: t.ImageTag}
	}
	for _, target := range g.Published.Targets {
		for _, f := range target.Files {
			if path.Base(f.Path) != "descriptor.yaml" {
				continue
			}
			if content, err := g.read(f.Path); err == nil {
				return describedBuild(content)
			}
		}
	}
	return Build{}
}

// commitOf returns text if it is a commit hash, else "". Anyone who can push to the branch can write the file.
func commitOf(text string) string {
	if len(text) != 40 || strings.Trim(text, "0123456789abcdef") != "" {
		return ""
	}
	return text
}

// environment returns the application's settings for an environment.
func (a *Application) environment(name string) app.Environment {
	e, _ := a.Delivery.Environment(name)
	e.Name = name
	return e
}
