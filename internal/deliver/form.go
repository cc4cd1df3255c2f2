package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// FormRequest selects a place in the configuration of an environment.
type FormRequest struct {
	Request     Request
	Environment string // required
	// Target is a target, Folder a folder of the configuration: "." for its root. Without either, the form lists the places.
	Target, Folder string
	// Author is who would set values.
	Author editing.Author
}

// Form is what a user must know to set values of a target, or of all targets of a folder.
type Form struct {
	Environment string `json:"environment"`
	Target      string `json:"target,omitempty"`
	Folder      string `json:"folder,omitempty"`
	// Repo, Branch and Base are the repository, branch and commit of the configuration, File the file that gets the values.
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
	File   string `json:"file,omitempty"`
	// Targets are the targets that the file is for.
	Targets []string `json:"targets"`
	// Fields are the values that the schemas describe or the configuration sets, by key. More means that there are others.
	Fields []FormField `json:"fields"`
	More   bool        `json:"more,omitempty"`
	// AllTargets and AllFolders are the places that have a form: those of the environment.
	AllTargets []string `json:"allTargets"`
	AllFolders []string `json:"allFolders"`
	// Problems are expressions that cannot be computed, and files that cannot be read.
	Problems []fleet.Problem `json:"problems,omitempty"`
}

// FormField is a value with what the schemas say of it, and where it comes from.
type FormField struct {
	schemas.Field
	// Set means that the place has a value. Value is the value as text, unless it is Hidden because it looks like a credential.
	Set    bool   `json:"set"`
	Value  string `json:"value,omitempty"`
	Hidden bool   `json:"hidden,omitempty"`
	// Own means that the file itself has it, so that setting it replaces it there. Otherwise the file will override what is From.
	Own  bool           `json:"own,omitempty"`
	From fleet.Position `json:"from,omitzero"`
	// Over are the values that it overrides, the last one first.
	Over []values.Overridden `json:"over,omitempty"`
	// Expression computes the value; empty for a written one.
	Expression string `json:"expression,omitempty"`
	// Missing means that a required value is not set.
	Missing bool `json:"missing,omitempty"`
	// Editors are the users and groups that may set it; empty if everyone may. MayEdit tells whether the author may.
	Editors []string `json:"editors,omitempty"`
	MayEdit bool     `json:"mayEdit"`
}

// maxFormFields is the maximum number of fields of a form.
const maxFormFields = 500

// Form reads the values of a place, and the schemas that apply. It renders nothing.
func (l *Loader) Form(ctx context.Context, r FormRequest) (*Form, error) {
	if r.Target != "" && r.Folder != "" {
		return nil, errors.New("name a target or a folder of the configuration")
	}
	f, err := l.newForm(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Target == "" && r.Folder == "" {
		return &f.Form, nil
	}
	folder, err := f.place()
	if err != nil {
		return nil, err
	}
	composed, err := f.compose(ctx, l, folder)
	if err != nil {
		return nil, err
	}
	return &f.Form, f.fill(composed)
}

// form is a form that is being made.
type form struct {
	Form
	request FormRequest
	work    *work
	schemas []*values.Schema
}

func (l *Loader) newForm(ctx context.Context, r FormRequest) (*form, error) {
	a, compiled, err := l.editSchemas(ctx, EditRequest{Request: r.Request, Environment: r.Environment})
	if err != nil {
		return nil, err
	}
	if d := a.Delivery.Spec; d.Kustomization+d.Manifests != "" {
		return nil, fmt.Errorf("the application %s has kustomizations or plain manifests, which have no values", a.Workload.Name)
	}
	config, _, err := l.Config(ctx, a, r.Environment)
	if err != nil {
		return nil, err
	}
	f := &form{request: r, schemas: compiled, work: &work{app: a, environment: r.Environment, config: config, workspace: r.Request.Workspace}}
	f.Form = Form{
		Environment: r.Environment, Target: r.Target, Folder: r.Folder, Repo: config.Location.Repo, Branch: cmp.Or(config.Input.Branch, config.Location.Branch),
		Base: config.Input.Commit, Targets: []string{}, Fields: []FormField{}, AllTargets: []string{}, AllFolders: []string{},
	}
	folders := map[string]bool{}
	for _, i := range a.targetsIn(r.Environment) {
		name := a.Workload.Spec.DeploymentTargets[i].Name
		folder, err := f.work.folderOf(name, map[string]bool{})
		if err != nil {
			continue // it has no values; the rounds report why
		}
		f.AllTargets = append(f.AllTargets, name)
		for at := path.Dir(folder.Path); ; at = path.Dir(at) {
			if folders[at] = true; at == "." {
				break
			}
		}
	}
	slices.Sort(f.AllTargets)
	f.AllFolders = slices.Sorted(maps.Keys(folders))
	return f, nil
}

// place finds the file, the targets that it is for, and the folder with its layers.
func (f *form) place() (values.Folder, error) {
	file, err := f.work.app.fileOf(f.work.config, SetRequest{Environment: f.Environment, Target: f.Target, Folder: f.Folder})
	if err != nil {
		return values.Folder{}, err
	}
	f.File = file
	at := path.Dir(f.work.config.within(file))
	if at == "." {
		at = ""
	}
	folder := values.Folder{Path: at}
	for _, name := range slices.Sorted(maps.Keys(f.work.config.Files)) {
		within := f.work.config.within(name)
		if dir := path.Dir(within); dir == "." || dir == at || strings.HasPrefix(at, dir+"/") {
			folder.Files = append(folder.Files, within)
		}
	}
	// From the root down, and expressions before the values of their folder.
	slices.SortStableFunc(folder.Files, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	for _, name := range f.AllTargets {
		of, _ := f.work.folderOf(name, map[string]bool{})
		if at == "" || of.Path == at || strings.HasPrefix(of.Path, at+"/") {
			f.Targets = append(f.Targets, name)
		}
	}
	return folder, nil
}

// compose composes the values of a folder, above the defaults of a chart in the source.
func (f *form) compose(ctx context.Context, l *Loader, folder values.Folder) (*values.Composed, error) {
	w, a := f.work, f.work.app
	var err error
	w.source, err = l.Repositories.Files(ctx, schedule.Location{Repo: a.Request.Source, Folder: a.Request.SourceFolder, Branch: a.Request.Branch, Commit: a.Source.Commit})
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	var layers []*values.Layer
	add := func(source, file string, content []byte, parse func(source, file string, content []byte) (*values.Layer, []fleet.Problem)) {
		layer, problems := parse(source, file, content)
		f.Problems = append(f.Problems, problems...)
		if layer != nil {
			layers = append(layers, layer)
		}
	}
	if defaults := chartDefaults(a.Delivery.Spec); slices.ContainsFunc(w.source.Entries, func(e Entry) bool { return e.Path == defaults && !e.Symlink }) {
		content, err := w.source.Read(defaults)
		if err != nil {
			return nil, fmt.Errorf("read the defaults of the chart: %w", err)
		}
		add("source", defaults, content, values.Parse)
	}
	templates := &part{job: &chart.Job{Form: chart.FormChart}}
	if templates.templates(w); templates.err != nil {
		return nil, templates.err
	}
	for _, name := range w.layers(folder) {
		if t, ok := templates.job.Templates[name]; ok {
			add("source", t.Path, t.Content, values.ParseExpressions)
		} else {
			add("config", name, w.config.Files[name], values.Parse)
		}
	}
	i := slices.IndexFunc(a.Workload.Spec.DeploymentTargets, func(t scheduler.WorkloadTarget) bool { return t.Name == f.Target && t.Environment == f.Environment })
	if i < 0 {
		return values.Compose(layers, a.Request.Vars), nil
	}
	facts := w.facts(a.Workload.Spec.DeploymentTargets[i], folder)
	if facts == nil {
		return values.Compose(layers, a.Request.Vars), nil
	}
	composed, problems := values.Compute(layers, a.Request.Vars, *facts)
	f.Problems = append(f.Problems, problems...)
	return composed, nil
}

// chartDefaults returns the path of the values of a chart in the source; empty without one.
func chartDefaults(d app.DeliverySpec) string {
	if schema := chartSchema(d); schema != "" {
		return path.Join(path.Dir(schema), values.FileName)
	}
	return ""
}

// fill adds the fields.
func (f *form) fill(composed *values.Composed) error {
	fields := map[string]schemas.Field{}
	for _, s := range f.schemas {
		described, more, err := s.Fields()
		if err != nil {
			return err
		}
		f.More = f.More || more
		for _, d := range described {
			if was, ok := fields[d.Key]; ok {
				d.Required, d.Secret, d.ReadOnly = d.Required || was.Required, d.Secret || was.Secret, d.ReadOnly || was.ReadOnly
				d.Title, d.Help = cmp.Or(was.Title, d.Title), cmp.Or(was.Help, d.Help)
				d.Rules = slices.Compact(slices.Sorted(slices.Values(slices.Concat(was.Rules, d.Rules))))
			}
			fields[d.Key] = d
		}
	}
	for _, k := range composed.Keys {
		keys, err := editing.Path(k.Path)
		if err != nil {
			continue // an empty key, which cannot be set by hand
		}
		for i := range keys[:len(keys)-1] { // a map without named values is shown as those that it has
			delete(fields, dottedPath(keys[:i+1]))
		}
		if _, ok := fields[k.Path]; !ok {
			fields[k.Path] = schemas.Field{Path: keys, Key: k.Path}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if len(f.Fields) == maxFormFields {
			f.More = true
			break
		}
		f.Fields = append(f.Fields, f.field(fields[key], composed))
	}
	return nil
}

// dottedPath formats keys as the path of a value.
func dottedPath(keys []string) string {
	text := ""
	for _, key := range keys {
		text = values.Join(text, key)
	}
	return text
}

// field adds where the value comes from, and who may set it.
func (f *form) field(d schemas.Field, composed *values.Composed) FormField {
	field := FormField{Field: d, MayEdit: true}
	for _, s := range f.schemas {
		names := s.Rule().Editors(d.Path)
		if len(names) > 0 {
			field.Editors, field.MayEdit = names, field.MayEdit && f.request.Author.In(names)
		}
	}
	hide := func(value string) string {
		if d.Secret {
			return "(hidden)"
		}
		return check.RedactValue(d.Key, value)
	}
	if i := slices.IndexFunc(composed.Keys, func(k values.Key) bool { return k.Path == d.Key }); i >= 0 {
		k := composed.Keys[i]
		field.Set, field.From, field.Expression = true, k.From, k.Expression
		if len(d.Types) == 0 {
			field.Types = composed.Types(d.Path)
		}
		if field.Value = cmp.Or(k.Written, k.Value); hide(field.Value) != field.Value {
			field.Value, field.Hidden = "", true
		}
		for _, o := range k.Over {
			field.Over = append(field.Over, values.Overridden{Value: hide(o.Value), From: o.From})
		}
	}
	field.Own = field.Set && field.From.Source == "config" && field.From.File == f.File
	field.Missing = d.Required && !field.Set
	return field
}
