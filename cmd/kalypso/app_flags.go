package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// appFlags say which application a command is about, and where it is read. Commands of "kalypso app" bind those that they use.
type appFlags struct {
	// source, config and gitops are folders or URLs; empty for the current repository and what its Delivery says.
	source, config, gitops string
	branch, path, workload string
	environment            string
	maps                   []git.Mapping
	set, setString, vars   []string
	build                  deliver.Build
}

func (f *appFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.source, "source", "", "the source of the application, a `folder or URL` (default: the repository of the current folder)")
	flags.StringVar(&f.config, "config", "", "its configuration, a `folder or URL` (default: what the Delivery says)")
	flags.StringVar(&f.branch, "branch", "", "the `branch` of the source that is delivered (default: the default branch of the source)")
	flags.StringVar(&f.path, "path", "", "the `folder` of the Workload in the source (default: anywhere)")
	flags.StringVar(&f.workload, "workload", "", "the `name` of the Workload, where there are several")
	flags.Var((*mapFlag)(&f.maps), "map", "read the repository `URL=PATH` from a path; may be repeated")
	cli.FlagGroup(cmd, cli.GroupApplication, "source", "config", "branch", "path", "workload", "map")
	for _, name := range []string{"source", "config"} {
		_ = cmd.MarkFlagDirname(name) // the error only says that the flag does not exist
	}
}

// bindEnvironment adds the flag that names an environment.
func (f *appFlags) bindEnvironment(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.environment, "environment", "e", "", "the `name` of the environment")
	cli.FlagGroup(cmd, cli.GroupApplication, "environment")
}

// bindGitOps adds the flag for the GitOps repository.
func (f *appFlags) bindGitOps(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.gitops, "gitops", "", "its GitOps repository, a `folder or URL` (default: what the Delivery says)")
	cli.FlagGroup(cmd, cli.GroupApplication, "gitops")
	_ = cmd.MarkFlagDirname("gitops") // the error only says that the flag does not exist
}

// bindBuild adds the flags that say what is rendered.
func (f *appFlags) bindBuild(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.build.Commit, "commit", "", "the `commit` of the source (default: the head of the branch)")
	flags.StringVar(&f.build.Version, "version", "", "the version for people, such as `1.4.0` (default: the commit in short)")
	flags.StringVar(&f.build.Image, "image-tag", "", "the image that was built, a `tag` or more of its reference: 1.4.0@sha256:..., or web=1.4.0,worker=1.4.1")
	flags.StringArrayVar(&f.set, "set", nil, "set a value, as in helm: `replicas=2`; may be repeated")
	flags.StringArrayVar(&f.setString, "set-string", nil, "set a text, as in helm: `tag=007`; may be repeated")
	flags.StringArrayVar(&f.vars, "var", nil, "let values refer to `NAME=VALUE` as $NAME; NAME alone takes it from the environment")
	cli.FlagGroup(cmd, cli.GroupBuild, "commit", "version", "image-tag", "set", "set-string", "var")
}

// leaveOut refuses the named flags if they are given. because says why they would have no effect.
func leaveOut(cmd *cobra.Command, because string, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return cli.Usage(cmd, "%s: leave out --%s", because, name)
		}
	}
	return nil
}

// serverReads is why flags for repositories and forges have no effect with --server.
const serverReads = "a server knows the repositories of an application, and their forges"

// repositoryFlags choose repositories and forges of an application, which a server knows.
var repositoryFlags = []string{"config", "gitops", "forge-config", "forge-kind"}

// wantEnvironment is for commands that work on one environment.
func (f *appFlags) wantEnvironment(cmd *cobra.Command) error {
	if f.environment == "" {
		return cli.Usage(cmd, "which environment? name it, as in -e dev")
	}
	return nil
}

// registryWait is how long a command waits for digests of images.
const registryWait = 3 * time.Second

// appSession is what a command reads an application with.
type appSession struct {
	client   *git.Client
	drafter  *deliver.Drafter
	request  deliver.Request
	progress *terminal.Progress
	// workTree is the folder of the source, if it is a clone; empty for others.
	workTree string
	// images looks up digests, for commands that show them.
	images *repository.Images
}

// open finds the application and connects the delivery flow to the repositories.
func (f *appFlags) open(ctx context.Context, t *terminal.Terminal) (*appSession, error) {
	s, err := f.connect(t)
	if err != nil {
		return nil, err
	}
	vars, err := f.variables(t.Env)
	if err != nil {
		return nil, err
	}
	s.request = deliver.Request{Branch: f.branch, Path: strings.Trim(f.path, "/"), Workload: f.workload, Set: f.set, SetString: f.setString, Vars: vars}
	if err := f.locate(ctx, s); err != nil {
		return nil, err
	}
	if f.build.Commit != "" && s.request.SourceFolder == "" {
		f.build.Commit, err = s.resolve(ctx, f.build.Commit)
	}
	return s, err
}

// connect connects the delivery flow to repositories, without an application.
func (f *appFlags) connect(t *terminal.Terminal) (*appSession, error) {
	s := &appSession{progress: t.Progress()}
	s.client = &git.Client{
		Map: f.maps, Env: func(name string) string { return t.Env[name] },
		Progress: func(line string) { s.progress.Say("%s", line) },
	}
	charts, err := remote.NewUserClient(func(name string) string { return t.Env[name] })
	if err != nil {
		return nil, err
	}
	s.drafter = &deliver.Drafter{Renderer: &sandbox.Runner{}, Loader: &deliver.Loader{
		Repositories: repository.NewDeliveryReader(s.client), Charts: repository.Charts{Client: charts}, Cache: &fleet.Cache{},
		Progress: func(what string) { s.progress.Say("%s", what) },
	}}
	s.images = &repository.Images{Registry: charts, Wait: registryWait}
	return s, nil
}

// name returns the name of the application, to ask a server about it: --workload, or that of the source.
func (f *appFlags) name(ctx context.Context, t *terminal.Terminal) (string, error) {
	if f.workload != "" {
		return f.workload, nil
	}
	s, err := f.open(ctx, t)
	if err != nil {
		return "", err
	}
	defer s.close()
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return "", cli.Failed(err, "or name the application with --workload")
	}
	return a.Workload.Name, nil
}

// resolve returns the full hash of a commit that was named on the command line.
func (s *appSession) resolve(ctx context.Context, revision string) (string, error) {
	repo, err := s.client.Open(ctx, s.request.Source)
	if err != nil {
		return "", err
	}
	commit, err := repository.ResolveIn(ctx, repo, s.request.Branch, revision)
	return commit.Hash, err
}

// close ends the progress line and releases the repositories.
func (s *appSession) close() {
	s.progress.End()
	_ = s.client.Close() // files were only read
}

// again makes the next reading start over, and returns its loader: a loader keeps what it resolved.
func (s *appSession) again() *deliver.Loader {
	was := s.drafter.Loader
	s.drafter.Loader = &deliver.Loader{
		Repositories: repository.NewDeliveryReader(s.client), Charts: was.Charts, Cache: was.Cache, Progress: was.Progress,
	}
	return s.drafter.Loader
}

// locate finds out what the folders and URLs mean.
func (f *appFlags) locate(ctx context.Context, s *appSession) error {
	var err error
	r := &s.request
	if r.Source, r.SourceFolder, err = f.findSource(); err != nil {
		return err
	}
	if r.SourceFolder == "" && fleet.IsLocal(r.Source) {
		s.client.Config = r.Source
		if _, err := os.Stat(filepath.Join(r.Source, ".git")); err == nil {
			s.workTree = r.Source
		}
		clone := standIn(ctx, r.Source)
		s.client.Map = append(s.client.Map, clone...)
		if len(clone) > 0 {
			r.Source = clone[0].From // what lies beside it, lies beside what it was cloned from
		}
		if r.Branch == "" {
			if r.Branch, err = mainBranch(ctx, s.client, r.Source); err != nil {
				return err
			}
		}
	}
	if r.ConfigRepo, r.ConfigFolder, err = folderOrRepository(f.config, f.environment); err != nil {
		return err
	}
	r.GitOpsRepo, r.GitOpsFolder, err = folderOrRepository(f.gitops, f.environment)
	return err
}

// mainBranch returns the branch that is delivered if none is named. A checkout of another branch, or of a pull request, is not delivered.
func mainBranch(ctx context.Context, client *git.Client, source string) (string, error) {
	repo, err := client.Open(ctx, source)
	if err != nil {
		return "", nil //nolint:nilerr // the next step reads it, and reports what is wrong
	}
	branch, err := repo.MainBranch()
	if err == nil && branch == "" && repo.IsLocal() {
		err = cli.Failed(fmt.Errorf("%s has no branch main, and a commit without a branch is checked out", repo.Name), "name the branch that is delivered with --branch")
	}
	return branch, err
}

// findSource returns the source as a repository, or as a plain folder with the repository that it stands for.
func (f *appFlags) findSource() (repo, folder string, err error) {
	if f.source != "" {
		if repo, folder, err = folderOrRepository(f.source, cmp.Or(f.branch, "main")); folder != "" {
			repo = folder // what lies beside it is found from here
		}
		return repo, folder, err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	found, err := git.Discover(here)
	if err != nil {
		return "", "", cli.Failed(err, "name the source of the application with --source FOLDER or URL")
	}
	return found, "", nil
}

// folderOrRepository finds out whether a location is a repository, or a plain folder that stands in for a branch.
// A folder with a subfolder named like the branch is a repository: each of its subfolders is a branch.
func folderOrRepository(location, branch string) (repo, folder string, err error) {
	if location == "" || !fleet.IsLocal(location) {
		return location, "", nil
	}
	dir, err := localPath(location)
	if err != nil {
		return "", "", err
	}
	if root, err := git.Discover(dir); err == nil && sameFile(root, dir) {
		return dir, "", nil
	}
	if branch == "" { // all of them: then what is in the folder itself says what it is
		if _, err := os.Stat(filepath.Join(dir, values.FileName)); err != nil {
			return dir, "", nil
		}
		return "", dir, nil
	}
	if info, err := os.Stat(filepath.Join(dir, branch)); err == nil && info.IsDir() {
		return dir, "", nil
	}
	return "", dir, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// variables are those that values may refer to: an explicit list.
func (f *appFlags) variables(env map[string]string) (values.Vars, error) {
	vars := values.Vars{}
	for _, v := range f.vars {
		name, value, given := strings.Cut(v, "=")
		if !given {
			if value, given = env[name]; !given {
				return nil, fmt.Errorf("--var %s: the environment has no such variable", name)
			}
		}
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			return nil, fmt.Errorf("--var %q: a name has letters, digits and underscores", name)
		}
		vars[name] = value
	}
	return vars, nil
}

// chain promotes the application without a server. Close its promoter.
func (s *appSession) chain(d *deliver.Deliverer, l ledger.Ledger, now func() time.Time) *deliver.Chain {
	promoter := &promote.Promoter{Checks: &verify.Runner{}, Now: now}
	return plane.NewPromotion(repository.Committer{Client: s.client}, l, promoter).Chain(d)
}
