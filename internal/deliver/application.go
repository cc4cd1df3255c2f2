package deliver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Request identifies an application, and overrides where it is read from and what it is rendered with.
type Request struct {
	// Source is the URL or path of the source repository. // required
	Source string
	// Branch is the branch whose commits are delivered. Default: the default branch.
	Branch string
	// Path is the folder with the Workload. Default: the whole repository.
	Path string
	// Workload is the name of the Workload. Required if there are several.
	Workload string
	// Workspace is the owner of the application, for descriptors; optional.
	Workspace string
	// Repositories are additional repositories that the platform team allows it to use; see [Bounds].
	Repositories []string
	// NoRings explains for environments why their rings cannot be used; optional.
	NoRings map[string]string

	// SourceFolder, ConfigFolder and GitOpsFolder are plain folders to read instead of the source commit, the
	// environment's configuration and its GitOps branch; optional.
	SourceFolder, ConfigFolder, GitOpsFolder string

	// ConfigRepo and GitOpsRepo are URLs or paths that override those in the Delivery; optional.
	ConfigRepo, GitOpsRepo string

	// ConfigCommit and GitOpsCommit are commits to read instead of the heads of the environment's branches; optional.
	ConfigCommit, GitOpsCommit string

	// Set and SetString are values in Helm's syntax. Vars are the variables that values can refer to.
	Set, SetString []string
	Vars           values.Vars
	// ListMade lists what charts make up: see [Draft.Made].
	ListMade bool
}

// Application is an application as described at a commit of its source.
type Application struct {
	Request  Request
	Workload *scheduler.Workload
	// Position is where the Workload is written; lines are those of its targets.
	Position fleet.Position
	// Delivery is complete. Written reports whether the source has one.
	Delivery *app.Delivery
	Written  bool
	// DeliveryAt is where the Delivery is written; zero if the source has none.
	DeliveryAt fleet.Position
	// Source is the commit that was read.
	Source schedule.Input
	// Alone reports that the repository has no other Workload. Branches and
	// statuses then do not include the workload's name.
	Alone    bool
	Problems []fleet.Problem

	lines []int
	// imagesWritten reports that the Delivery lists images.
	imagesWritten bool
	// withhold means that a document that cannot be read may define more targets.
	withhold bool
}

// ErrNotOnBranch is returned for a commit that is not on the branch that is delivered.
var ErrNotOnBranch = errors.New("it is not on the branch that is delivered")

// Loader reads applications and their environments.
type Loader struct {
	// Repositories reads the repositories. // required
	Repositories Repositories
	// Charts fetches charts. // required
	Charts Charts
	// Cache keeps parsed files; optional.
	Cache *fleet.Cache
	// Progress is called with what is about to be read; optional.
	Progress func(what string)
	// Allow returns an error if an application must not use a repository for its configuration or manifests; see
	// [Bounds]. Servers set it, so that applications cannot make them read other teams' repositories or arbitrary
	// addresses. Nil allows all, for programs that run with the rights of the application's team.
	Allow func(r Request, repository string) error
}

func (l *Loader) progress(format string, args ...any) {
	if l.Progress != nil {
		l.Progress(fmt.Sprintf(format, args...))
	}
}

// Application reads an application at a commit of its source; an empty commit is the head of the branch. It returns
// [ErrNotOnBranch] for a commit that is not on the branch, because its content was never approved.
func (l *Loader) Application(ctx context.Context, r Request, commit string) (*Application, error) {
	main := schedule.Location{Repo: r.Source, Folder: r.SourceFolder, Branch: r.Branch}
	if commit != "" && r.SourceFolder == "" {
		on, err := l.Repositories.Contains(ctx, main, commit)
		if err != nil {
			return nil, fmt.Errorf("find commit %s: %w", fleet.ShortCommit(commit), err)
		}
		if !on {
			return nil, fmt.Errorf("commit %s of %s: %w (%s)", fleet.ShortCommit(commit), secret.Redact(r.Source), ErrNotOnBranch, cmp.Or(r.Branch, "the default one"))
		}
		main.Commit = commit
	}
	l.progress("reading the source")
	source, err := l.Repositories.Source(ctx, main)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	source = source.OfApplication()
	source.Name = "source"
	a := &Application{Request: r, Source: schedule.Input{
		Name: "source", Repo: source.Repo, Branch: source.Branch, Commit: source.Commit, Time: source.Time,
	}}
	objects := fleet.Read(l.Cache, source)
	if err := a.find(objects); err != nil {
		return nil, err
	}
	if err := a.describe(source); err != nil {
		return nil, err
	}
	a.Problems = fleet.SortProblems(append(a.Problems, a.problemsOf(objects)...))
	return a, nil
}

func (r Request) below(file string) bool {
	return r.Path == "" || file == r.Path || strings.HasPrefix(file, r.Path+"/")
}

// find finds the Workload. It returns an error unless there is exactly one.
func (a *Application) find(objects *fleet.Objects) error {
	var found []fleet.Object[scheduler.Workload]
	var names []string
	for _, w := range objects.Workloads {
		if a.Request.below(w.Position.File) && (a.Request.Workload == "" || w.Value.Name == a.Request.Workload) {
			found = append(found, w)
			names = append(names, w.Value.Name)
		}
	}
	if len(found) == 0 {
		for _, p := range objects.Problems {
			if p.Object.Kind == "Workload" && p.Severity == fleet.SeverityError && a.Request.below(p.Position.File) {
				return fmt.Errorf("%s: the Workload cannot be read: %s", p.Position, p.Message)
			}
		}
		for _, p := range objects.Problems {
			if p.Kind == fleet.KindYAMLSyntax && a.Request.below(p.Position.File) && hasLine(objects.Source, p.Position.File, "kind: Workload") {
				return fmt.Errorf("%s has no Workload below %q, and %s: %s", a.Source, a.Request.Path, p.Position, p.Message)
			}
		}
		if hides, ok := objects.Source.Hides(); ok {
			return fmt.Errorf("%s has no Workload below %q, and %s: %s; %s", a.Source, a.Request.Path, hides.Position, hides.Message, hides.Hint)
		}
		return fmt.Errorf("%s has no Workload below %q; add one that defines what runs, and in which environments", a.Source, a.Request.Path)
	}
	if len(found) > 1 {
		return fmt.Errorf("%s has several Workloads: %s; select one by its path or name", a.Source, strings.Join(names, ", "))
	}
	w := found[0]
	a.Workload, a.Position, a.lines = &w.Value, w.Position, w.Lines
	a.Alone = len(objects.Workloads) == 1
	for _, u := range objects.Unreadable {
		if u.Position.File == w.Position.File {
			a.withhold = true
		}
	}
	return nil
}

// hasLine reports whether a file that is not valid YAML has a line. Templates of charts are not valid YAML, either.
func hasLine(source fleet.Source, file, line string) bool {
	return slices.ContainsFunc(source.Files, func(f fleet.File) bool {
		if f.Path != file {
			return false
		}
		content, err := f.Read()
		return err == nil && slices.Contains(strings.Split(string(content), "\n"), line)
	})
}

// problemsOf returns the problems in the Workload's file.
func (a *Application) problemsOf(objects *fleet.Objects) []fleet.Problem {
	var problems []fleet.Problem
	for _, p := range objects.Problems {
		if p.Position.File == a.Position.File && p.Kind != fleet.KindUnknownKind {
			problems = append(problems, p)
		}
	}
	return problems
}

// describe finds the Delivery and fills in its defaults.
func (a *Application) describe(source fleet.Source) error {
	var written *app.Delivery
	var at fleet.Position
	var listed []app.Service
	for _, f := range source.Files {
		if f.Symlink || f.Size > fleet.MaxFileSize || !a.Request.below(f.Path) && !sameFolder(f.Path, a.Position.File) {
			continue
		}
		content, err := f.Read()
		if err != nil {
			return fmt.Errorf("read %q: %w", f.Path, err)
		}
		if path.Base(path.Dir(f.Path)) == "services" {
			if s, ok := listedService(content); ok {
				listed = append(listed, s)
			}
		}
		deliveries, err := parseDeliveries(content)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		for _, d := range deliveries {
			if cmp.Or(d.value.Spec.Workload, d.value.Name) != a.Workload.Name {
				continue
			}
			if written != nil {
				return fmt.Errorf("the workload %q has two Deliveries, in %s and %s:%d; keep one", a.Workload.Name, at, f.Path, d.line)
			}
			written, at = d.value, fleet.Position{Source: "source", File: f.Path, Line: d.line}
			if _, problem := fleet.ParseDeletionBudget("spec.gitops.deletionBudget", d.value.Spec.GitOps.DeletionBudget); problem != nil {
				problem.Object = fleet.Ref{Kind: "Delivery", Name: d.value.Name}
				problem.Position = fleet.Position{Source: "source", File: f.Path, Line: d.budgetLine}
				a.Problems = append(a.Problems, *problem)
			}
		}
	}
	a.Written, a.DeliveryAt = written != nil, at
	if written == nil && len(listed) > 0 {
		written = &app.Delivery{Spec: app.DeliverySpec{Services: listed}}
	}
	if err := checkDelivery(written); err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(at, a.Position), err)
	}
	a.imagesWritten = written != nil && len(written.Spec.Images) > 0
	a.Delivery = app.Complete(a.Request.over(written), a.Workload, a.Request.Source)
	return nil
}

// over applies the request's overrides to a Delivery.
func (r Request) over(written *app.Delivery) *app.Delivery {
	if r.ConfigRepo == "" && r.GitOpsRepo == "" {
		return written
	}
	d := &app.Delivery{}
	if written != nil {
		d = written.DeepCopy()
	}
	d.Spec.Config.Repo = cmp.Or(r.ConfigRepo, d.Spec.Config.Repo)
	d.Spec.GitOps.Repo = cmp.Or(r.GitOpsRepo, d.Spec.GitOps.Repo)
	return d
}

func sameFolder(a, b string) bool { return path.Dir(a) == path.Dir(b) }

type delivered struct {
	value *app.Delivery
	line  int
	// budgetLine is the line of spec.gitops.deletionBudget, or the first line of the document if that is not set.
	budgetLine int
}

// parseDeliveries returns the Deliveries in a file. It ignores files that
// are not valid YAML; they are reported elsewhere.
func parseDeliveries(content []byte) ([]delivered, error) {
	if !bytes.Contains(content, []byte(app.GroupVersion.Group)) {
		return nil, nil
	}
	var all []delivered
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); err != nil {
			return all, nil //nolint:nilerr // the end, or what the reader of all documents reports
		}
		var head struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string `yaml:"kind"`
		}
		if node.Decode(&head) != nil || head.Kind != "Delivery" || !strings.HasPrefix(head.APIVersion, app.GroupVersion.Group+"/") {
			continue
		}
		line := node.Content[0].Line
		if head.APIVersion != app.GroupVersion.String() {
			return nil, fmt.Errorf("line %d: %s is not known; write %s", line, head.APIVersion, app.GroupVersion)
		}
		text, err := yaml.Marshal(&node)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		d := &app.Delivery{}
		if err := sigs.UnmarshalStrict(text, d); err != nil {
			return nil, fmt.Errorf("line %d: the Delivery cannot be read: %w", line, err)
		}
		budgetLine := line
		if budget := entry(&node, "spec", "gitops", "deletionBudget"); budget != nil {
			budgetLine = budget.Line
		}
		all = append(all, delivered{d, line, budgetLine})
	}
}

// listedService parses a service in the format that the original scheduler uses for its services repositories.
func listedService(content []byte) (app.Service, bool) {
	var s app.ListedService
	if err := sigs.UnmarshalStrict(content, &s); err != nil || s.Name == "" || s.Helm.Repository == "" {
		return app.Service{}, false
	}
	return s.Service(), true
}

// Subject identifies the application in the ledger; see [SubjectOf].
func (a *Application) Subject() string { return SubjectOf(a.Request.Source, a.Workload.Name) }

// HeadBranch is the head branch of an environment's pull requests.
func (a *Application) HeadBranch(environment string) string {
	if a.Alone {
		return pullrequest.HeadBranch(environment)
	}
	return "kalypso-" + a.Workload.Name + "/" + environment
}

// StatusContext is the context of the commit statuses for an environment.
func (a *Application) StatusContext(environment string) string {
	if a.Alone {
		return environment
	}
	return environment + "/" + a.Workload.Name
}

// Environments are the names of the environments, in promotion request.
func (a *Application) Environments() []string {
	var names []string
	for _, e := range a.Delivery.Spec.Environments {
		names = append(names, e.Name)
	}
	return names
}

func (a *Application) at(target int) fleet.Position {
	p := a.Position
	if target < len(a.lines) {
		p.Line = a.lines[target]
	}
	return p
}

// targetsIn returns the indexes of an environment's targets in the Workload.
func (a *Application) targetsIn(environment string) []int {
	var found []int
	for i, t := range a.Workload.Spec.DeploymentTargets {
		if t.Environment == environment {
			found = append(found, i)
		}
	}
	return found
}

// checkEnvironment returns an error that lists the environments if the given one is not among them.
func (a *Application) checkEnvironment(environment string) error {
	if slices.Contains(a.Environments(), environment) {
		return nil
	}
	return fmt.Errorf("environment %q: the workload %q is not delivered there; there are %s",
		environment, a.Workload.Name, cmp.Or(strings.Join(a.Environments(), ", "), "none"))
}
