package deliver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// EditRequest is a change of an environment's configuration.
type EditRequest struct {
	Request     Request
	Environment string // required
	// Base and Head are revisions of the branch of the configuration. Default of Head: its head, or Request.ConfigFolder.
	Base, Head string
}

// CheckEdits returns a problem for each value that differs between two commits of an environment's configuration, and that the author of
// the difference may not edit. The schemas are those of the source.
func (l *Loader) CheckEdits(ctx context.Context, author editing.Author, r EditRequest) ([]fleet.Problem, error) {
	a, rules, err := l.editRules(ctx, r)
	if err != nil {
		return nil, err
	}
	after, err := l.configAt(ctx, a, r.Environment, r.Head)
	if err != nil {
		return nil, err
	}
	a.Request.ConfigFolder = ""
	before, err := l.configAt(ctx, a, r.Environment, r.Base)
	if err != nil {
		return nil, err
	}
	files := maps.Clone(before.Files)
	maps.Copy(files, after.Files)
	var problems []fleet.Problem
	var edits []editing.Edit
	for _, file := range slices.Sorted(maps.Keys(files)) {
		was, is := before.Files[file], after.Files[file]
		if string(was) == string(is) {
			continue
		}
		old, _ := layerOf(file, was) // what could not be read had no values
		now, wrong := layerOf(file, is)
		problems = append(problems, wrong...)
		if len(wrong) == 0 {
			edits = append(edits, values.Edits(old, now)...)
		}
	}
	problems = append(problems, editing.Judge(author, edits, func(editing.Edit) []*editing.Rule { return rules })...)
	problems = append(problems, a.moved(author, r.Environment, before, after, rules)...)
	return fleet.SortProblems(problems), nil
}

// moved returns a problem for each value that a target has or loses because its folder moved, so that it inherits
// from others. All other changes of its values are changes of files.
func (a *Application) moved(author editing.Author, environment string, before, after *Config, rules []*editing.Rule) []fleet.Problem {
	var problems []fleet.Problem
	was, is := &work{app: a, environment: environment, config: before}, &work{app: a, environment: environment, config: after}
	for _, i := range a.targetsIn(environment) {
		name := a.Workload.Spec.DeploymentTargets[i].Name
		from, err := was.folderOf(name, map[string]bool{})
		if err != nil {
			continue // it is new
		}
		to, err := is.folderOf(name, map[string]bool{})
		if err != nil || to.Path == from.Path {
			continue
		}
		edits := values.Edits(before.merged(from), after.merged(to))
		for _, p := range editing.Judge(author, edits, func(editing.Edit) []*editing.Rule { return rules }) {
			p.Message = fmt.Sprintf("the folder of target %s moves from %q to %q: %s", name, from.Path, to.Path, p.Message)
			problems = append(problems, p)
		}
	}
	return problems
}

// merged returns what a folder has, with what it inherits. Files that cannot be read have nothing.
func (c *Config) merged(folder values.Folder) *values.Layer {
	var layers []*values.Layer
	for _, file := range folder.Files {
		at := path.Join(c.Location.Path, file)
		if layer, wrong := layerOf(at, c.Files[at]); len(wrong) == 0 {
			layers = append(layers, layer)
		}
	}
	return values.Merge(layers)
}

// Owners returns the files of an environment's configuration that hold values with edit rights, and who has them.
func (l *Loader) Owners(ctx context.Context, r EditRequest) ([]editing.FileOwners, error) {
	a, rules, err := l.editRules(ctx, r)
	if err != nil {
		return nil, err
	}
	config, err := l.configAt(ctx, a, r.Environment, r.Head)
	if err != nil {
		return nil, err
	}
	var failed error
	files := editing.Collect(func(note func(string, editing.Editors)) {
		for _, file := range slices.Sorted(maps.Keys(config.Files)) {
			layer, wrong := layerOf(file, config.Files[file])
			if len(wrong) > 0 {
				failed = fmt.Errorf("%s: %s", wrong[0].Position, wrong[0].Message)
				continue
			}
			if err := layer.Rights(rules, func(e editing.Editors) { note(file, e) }); err != nil {
				failed = err
			}
		}
	})
	return files, failed
}

func layerOf(file string, content []byte) (*values.Layer, []fleet.Problem) {
	return values.Parse("config", file, content)
}

// configAt reads the configuration at a revision of its branch; empty for its head.
func (l *Loader) configAt(ctx context.Context, a *Application, environment, revision string) (*Config, error) {
	config, _, err := l.Config(ctx, a, environment)
	if err != nil || revision == "" {
		return config, err
	}
	at := config.Location
	at.Folder, at.Commit = "", revision
	files, err := l.Repositories.Files(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of %s at %q: %w", environment, revision, err)
	}
	return readConfig(files, at)
}

// editRules reads an application and who may edit its values.
func (l *Loader) editRules(ctx context.Context, r EditRequest) (*Application, []*editing.Rule, error) {
	a, schemas, err := l.editSchemas(ctx, r)
	var rules []*editing.Rule
	for _, s := range schemas {
		rules = append(rules, s.Rule())
	}
	return a, rules, err
}

// editSchemas reads an application and the schemas that say who may edit its values: the one of the Delivery, and that of a
// chart in the source.
func (l *Loader) editSchemas(ctx context.Context, r EditRequest) (*Application, []*values.Schema, error) {
	a, err := l.Application(ctx, r.Request, "")
	if err != nil {
		return nil, nil, err
	}
	if err := a.checkEnvironment(r.Environment); err != nil {
		return nil, nil, err
	}
	source, err := l.Repositories.Files(ctx, schedule.Location{Repo: a.Request.Source, Folder: a.Request.SourceFolder, Branch: a.Request.Branch, Commit: a.Source.Commit})
	if err != nil {
		return nil, nil, fmt.Errorf("read the source: %w", err)
	}
	var schemas []*values.Schema
	d := a.Delivery.Spec
	for _, file := range []string{d.Config.Schema, chartSchema(d)} {
		clean, _ := fleet.CleanPath(file) // validated when it was read
		if clean == "" || file != d.Config.Schema && !slices.ContainsFunc(source.Entries, func(e Entry) bool { return e.Path == clean && !e.Symlink }) {
			continue
		}
		content, err := source.Read(clean)
		if err != nil {
			return nil, nil, fmt.Errorf("read the schema %q: %w", clean, err)
		}
		schema, err := values.CompileSchema(fleet.Position{Source: "source", File: clean}, content)
		if err != nil {
			return nil, nil, err
		}
		schemas = append(schemas, schema)
	}
	return a, schemas, nil
}

// chartSchema returns the path of the schema of a chart in the source; empty without one.
func chartSchema(d app.DeliverySpec) string {
	if d.Chart == nil || d.Chart.Repository != "" {
		return ""
	}
	return path.Join(cmp.Or(d.Chart.Path, app.DefaultChart), "values.schema.json")
}
