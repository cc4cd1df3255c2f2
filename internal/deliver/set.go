package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// SetRequest is values to be set in the configuration of an environment.
type SetRequest struct {
	Request     Request
	Environment string // required
	// Target is the target whose folder gets the values, Folder a folder of the configuration instead: "." for its root. One of them is required.
	Target, Folder string
	Values         []SetValue // required
	// Author is who sets them.
	Author editing.Author
	// Message is the message of the commit. Default: what is set. When is the commit's time, unless its parent is later. Required.
	Message string
	When    time.Time
}

// SetValue is a value at a path of keys.
type SetValue struct {
	Path []string
	// Value is the new value. Nil removes the value from the file, so that the one applies that it overrides.
	Value *yaml.Node
}

// Setting is a commit that sets values, and what it does. The commit is on no branch yet.
type Setting struct {
	Environment string `json:"environment"`
	// Repo, Branch and Base are the repository, branch and commit of the configuration that was changed, File the file.
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
	File   string `json:"file"`
	// Commit has the values; empty if the file has them already.
	Commit  string `json:"commit,omitempty"`
	Message string `json:"message"`
	// Digest identifies the values and the author, whatever they were before.
	Digest string `json:"-"`
	// Targets are the targets whose values change, sorted.
	Targets []SetTarget `json:"targets"`
	// Problems are the errors that the values cause: values that the author may not set, or that a schema does not allow.
	Problems []fleet.Problem `json:"problems"`
}

// SetTarget is a target whose values change.
type SetTarget struct {
	Name   string        `json:"name"`
	Values []ValueChange `json:"values"`
	// Over are the values that the new ones override, by path.
	Over map[string][]values.Overridden `json:"over,omitempty"`
	// Restarts are the workloads whose pods are replaced, because the template of the pods changes.
	Restarts []string `json:"restarts,omitempty"`
	// Configs are the ConfigMaps and Secrets whose data change.
	Configs []DataChange `json:"configs,omitempty"`
}

// Set makes a commit with the values, and determines what it changes. Comments and the format of the file stay.
func (d *Drafter) Set(ctx context.Context, commits pullrequest.Committer, r SetRequest) (*Setting, error) {
	a, err := d.Loader.Application(ctx, r.Request, "")
	if err != nil {
		return nil, err
	}
	if err := a.checkEnvironment(r.Environment); err != nil {
		return nil, err
	}
	config, _, err := d.Loader.Config(ctx, a, r.Environment)
	if err != nil {
		return nil, err
	}
	if config.Input.Commit == "" {
		return nil, fmt.Errorf("the configuration of %s is a plain folder, which has no commits", r.Environment)
	}
	s := &Setting{
		Environment: r.Environment, Repo: config.Location.Repo, Branch: cmp.Or(config.Input.Branch, config.Location.Branch), Base: config.Input.Commit,
		Message: cmp.Or(r.Message, message(r)), Targets: []SetTarget{}, Problems: []fleet.Problem{},
	}
	if s.File, err = a.fileOf(config, r); err != nil {
		return nil, err
	}
	content := config.Files[s.File]
	parts := []string{r.Environment, s.File, r.Author.Name, r.Author.Login}
	for _, v := range r.Values {
		text := []byte("removed")
		if v.Value == nil {
			content, err = editing.Remove(content, 0, v.Path)
		} else if text, err = yaml.Marshal(v.Value); err == nil {
			content, err = editing.Set(content, 0, v.Path, v.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
		parts = append(append(parts, v.Path...), string(text), strconv.FormatBool(v.Value == nil))
	}
	s.Digest = pullrequest.DigestByHand(parts...)
	if _, problems := values.Parse("config", s.File, content); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", problems[0].Position, problems[0].Message)
	}
	if string(content) == string(config.Files[s.File]) {
		return s, nil
	}
	s.Commit, err = commits.Commit(ctx, pullrequest.Commit{
		Repo: s.Repo, Branch: s.Branch, Parent: s.Base, Put: map[string][]byte{s.File: content}, Message: s.Message, When: latest(r.When, config.Input.Time),
	})
	if err != nil {
		return nil, fmt.Errorf("commit to %s: %w", config, err)
	}
	return s, d.effects(ctx, s, r)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// message describes values for a commit.
func message(r SetRequest) string {
	var set, removed []string
	for _, v := range r.Values {
		if key := strings.Join(v.Path, "."); v.Value == nil {
			removed = append(removed, key)
		} else {
			set = append(set, key)
		}
	}
	return fmt.Sprintf("%s: %s of %s", r.Environment, pullrequest.SetOrRemoved(set, removed), cmp.Or(r.Target, path.Clean(r.Folder)))
}

// fileOf returns the file of the configuration that gets the values.
func (a *Application) fileOf(c *Config, r SetRequest) (string, error) {
	if (r.Target == "") == (r.Folder == "") {
		return "", errors.New("name a target or a folder of the configuration")
	}
	if r.Target != "" {
		w := &work{app: a, environment: r.Environment, config: c}
		folder, err := w.folderOf(a.ShortTarget(r.Target), map[string]bool{})
		return path.Join(c.Location.Path, folder.Path, values.FileName), err
	}
	folder, err := fleet.CleanPath(r.Folder)
	if err != nil {
		return "", fmt.Errorf("the folder %.100q: %w", r.Folder, err)
	}
	below := func(f values.Folder) bool {
		return folder == "" || f.Path == folder || strings.HasPrefix(f.Path, folder+"/")
	}
	if !slices.ContainsFunc(c.Folders, below) {
		return "", fmt.Errorf("no target of %s is in the folder %q of %s", r.Environment, folder, c)
	}
	return path.Join(c.Location.Path, folder, values.FileName), nil
}

// effects determines what the commit changes, and which problems it causes.
func (d *Drafter) effects(ctx context.Context, s *Setting, r SetRequest) error {
	edits, err := d.Loader.CheckEdits(ctx, r.Author, EditRequest{Request: r.Request, Environment: r.Environment, Base: s.Base, Head: s.Commit})
	if err != nil {
		return err
	}
	before, err := d.unpublished(ctx, r, s.Base)
	if err != nil {
		return err
	}
	after, err := d.unpublished(ctx, r, s.Commit)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, p := range before.Plan.Problems {
		known[problemID(p)] = true
	}
	for _, p := range after.Plan.Problems {
		if p.Severity == fleet.SeverityError && !known[problemID(p)] {
			edits = append(edits, p)
		}
	}
	s.Problems = append(s.Problems, fleet.SortProblems(edits)...)
	for _, i := range after.App.targetsIn(r.Environment) {
		name := after.App.Workload.Spec.DeploymentTargets[i].Name
		was, _ := before.Values(name)
		is, _ := after.Values(name)
		if t := compareTarget(name, was, is); len(t.Values) > 0 {
			manifests := after.manifests(name)
			t.Restarts, t.Configs = restarts(changedObjects(before.manifests(name), manifests), manifests)
			s.Targets = append(s.Targets, t)
		}
	}
	slices.SortFunc(s.Targets, func(a, b SetTarget) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// unpublished renders the environment with a commit of its configuration.
func (d *Drafter) unpublished(ctx context.Context, r SetRequest, commit string) (*Draft, error) {
	request := r.Request
	request.ConfigCommit = commit
	return d.Draft(ctx, DraftRequest{Request: request, Environment: r.Environment, Unpublished: true})
}

// manifests returns what was rendered for a target; nil if it is held.
func (d *Draft) manifests(target string) []byte {
	for _, e := range d.Tree.Targets {
		for _, f := range e.Files {
			if e.Name == target && path.Base(f.Path) == "manifests.yaml" {
				return f.Content()
			}
		}
	}
	return nil
}

// problemID identifies a problem, without its line.
func problemID(p fleet.Problem) string {
	return fmt.Sprintf("%q %q %q %q", p.Assignment, p.Kind, p.Position.File, p.Message)
}

// compareTarget compares the values of a target, without credentials.
func compareTarget(name string, was, is []values.Key) SetTarget {
	t := SetTarget{Name: name, Over: map[string][]values.Overridden{}}
	before, after, keys := map[string]string{}, map[string]string{}, map[string]values.Key{}
	for _, k := range was {
		before[k.Path] = k.Value
	}
	for _, k := range is {
		after[k.Path], keys[k.Path] = k.Value, k
	}
	changes := plan.CompareConfig(before, after, func(key string) (_, _ fleet.Position) { return keys[key].From, fleet.Position{} })
	hide := func(key string, value *string) *string {
		if value == nil {
			return nil
		}
		text := check.RedactValue(key, *value)
		return &text
	}
	for _, c := range changes {
		c.Old, c.New = hide(c.Key, c.Old), hide(c.Key, c.New)
		t.Values = append(t.Values, ValueChange(c))
		for _, over := range keys[c.Key].Over {
			over.Value = check.RedactValue(c.Key, over.Value)
			t.Over[c.Key] = append(t.Over[c.Key], over)
		}
	}
	maps.DeleteFunc(t.Over, func(_ string, over []values.Overridden) bool { return len(over) == 0 })
	return t
}
