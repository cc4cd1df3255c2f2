package engine

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Run renders the targets of a job, on all cores. Targets with the same inputs as in previous, an earlier result, are taken
// from there. previous can be nil, and does not affect the result.
func Run(j *chart.Job, previous *chart.Result) *chart.Result {
	rest, result := j.Rest(previous)
	if len(rest.Targets) > 0 {
		result.Fill(render(rest))
	}
	return result
}

func render(j *chart.Job) *chart.Result {
	p := prepare(j)
	result := &chart.Result{Targets: make([]chart.Rendered, len(j.Targets))}
	parallel(len(j.Targets), func(i int) {
		result.Targets[i] = p.target(j, j.Targets[i])
	})
	return result
}

// parallel calls do for every index below n, on all cores.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// prepared is the data that the targets of a job share.
type prepared struct {
	chart  *helmChart
	schema *values.Schema
	// layers and problems are those of the values files.
	layers   map[string]*values.Layer
	problems map[string][]fleet.Problem
	// vars are the names of the variables that the chart's own values refer to.
	vars []string
	// err is the reason why no target can be rendered.
	err error
}

func prepare(j *chart.Job) *prepared {
	p := &prepared{layers: map[string]*values.Layer{}, problems: map[string][]fleet.Problem{}}
	if j.Form == chart.FormChart {
		if p.chart, p.err = load(j.Files); p.err == nil {
			own := p.chart.loaded
			p.vars = j.Vars.In(own.Values)
			own.Values = j.Vars.ExpandMap(own.Values)
		}
	}
	if len(j.Schema) > 0 && p.err == nil {
		p.schema, p.err = values.CompileSchema(fleet.Position{Source: "source", File: j.SchemaFile}, j.Schema)
	}
	for name, content := range j.Config {
		p.layers[name], p.problems[name] = values.Parse(j.ConfigSource, name, content)
	}
	for name, f := range j.Templates {
		p.layers[name], p.problems[name] = values.ParseExpressions("source", f.Path, f.Content)
	}
	return p
}

func (p *prepared) target(j *chart.Job, t chart.Target) chart.Rendered {
	r := chart.Rendered{Name: t.Name}
	if t.LoadOnly {
		if r.Manifests = (&chart.Manifests{}); p.err != nil {
			r.Manifests, r.Problems = nil, []fleet.Problem{chart.Failure(p.err)}
		}
		return r
	}
	composed, problems := p.compose(j, t)
	if p.err != nil {
		problems = append(problems, chart.Failure(p.err))
	}
	if composed != nil && len(composed.Keys) > 0 {
		r.Keys = composed.Keys
		text, err := composed.YAML()
		if err != nil {
			problems = append(problems, chart.Failure(err))
		}
		r.Values = text
	}
	if composed != nil {
		r.Vars = slices.Compact(slices.Sorted(slices.Values(slices.Concat(composed.Vars, p.vars))))
	}
	if len(problems) == 0 && j.ListMade && p.chart != nil {
		r.Made = p.chart.made(composed, t.Options)
	}
	if len(problems) == 0 {
		if r.Manifests, problems = p.manifests(j, t, composed); r.Manifests != nil && j.Form == chart.FormChart {
			r.Idle = p.idle(j, t, composed, r.Manifests)
		}
	}
	r.Problems = fleet.SortProblems(problems)
	return r
}

func (p *prepared) manifests(j *chart.Job, t chart.Target, composed *values.Composed) (*chart.Manifests, []fleet.Problem) {
	var m *chart.Manifests
	var notices []fleet.Problem
	var err error
	switch j.Form {
	case chart.FormChart:
		return p.charted(j, t, composed)
	case chart.FormKustomization:
		m, err = kustomize(j.Files, t.Folder, t.Built)
	case chart.FormManifests:
		m, err = plainManifests(j.Files, t.Folder, t.Built)
		notices = kustomizations(j.Files, t.Folder)
	default:
		err = fmt.Errorf("the form %q is not known", j.Form)
	}
	if err == nil {
		for _, b := range t.Built {
			named := func(image string) bool { now, ok := replaced(b, image); return ok && now == image }
			if !slices.ContainsFunc(m.Images, named) {
				err = unused(m, b)
			}
		}
	}
	if err != nil {
		return nil, []fleet.Problem{chart.Failure(err)}
	}
	return m, notices
}

// charted renders a chart with the images that were built, and checks that it uses them.
func (p *prepared) charted(j *chart.Job, t chart.Target, composed *values.Composed) (*chart.Manifests, []fleet.Problem) {
	configured := p.configured(t)
	if err := holds(t.Image, configured); err != nil {
		return nil, []fleet.Problem{chart.Failure(err)}
	}
	built, sure := make([]build, len(t.Built)), true
	for i, b := range t.Built {
		built[i].Built = b
		for _, data := range configured {
			if _, value := textAt(data, built[i].RepositoryValue); value != nil && built[i].below == "" {
				built[i].below = strings.Trim(fmt.Sprint(value), "/")
			}
		}
		sure = sure && built[i].Repository+built[i].below+built[i].Digest != ""
	}
	m, problems := p.chart.render(composed, p.schema, t.Options)
	if m == nil {
		return nil, problems
	}
	err := uses(m, built)
	if err == nil && !sure && p.same(j, t, m) {
		err = unused(m, built[0].Built)
	}
	for _, path := range t.Versions {
		if err == nil && p.changesNothing(j, t, composed, m, path) {
			err = fmt.Errorf("no object has the version %s, which is set as the value %q; correct spec.images of the Delivery, or the chart", t.Image[path], path)
		}
	}
	if err != nil {
		return nil, append(problems, chart.Failure(err))
	}
	if t.Namespace == "" && len(t.Data) == 0 {
		problems = append(problems, p.chart.namespaceless(m, composed, p.schema, t.Options)...)
	}
	return m, problems
}

// configured returns the values of the configuration and of the chart, in order of precedence.
func (p *prepared) configured(t chart.Target) []map[string]any {
	composed, _ := p.composed(t, nil, nil)
	return []map[string]any{composed.Data, p.chart.loaded.Values}
}

// composed composes the layers of a target, with others on top.
func (p *prepared) composed(t chart.Target, others []*values.Layer, vars values.Vars) (*values.Composed, []fleet.Problem) {
	var layers []*values.Layer
	for _, name := range t.Layers {
		layers = append(layers, p.layers[name])
	}
	if existing, err := existingSecrets(t); err == nil {
		layers = append(layers, existing)
	}
	layers = append(layers, others...)
	if t.Facts == nil {
		return values.Compose(layers, vars), nil
	}
	return values.Compute(layers, vars, *t.Facts)
}

// same reports whether the chart renders the same with other images. Another image can happen to have the tag that was built.
func (p *prepared) same(j *chart.Job, t chart.Target, m *chart.Manifests) bool {
	other := t
	other.Image = map[string]string{}
	for at, text := range t.Image {
		other.Image[at] = text + "-other"
	}
	composed, problems := p.compose(j, other)
	if len(problems) > 0 {
		return false
	}
	again, _ := p.chart.render(composed, p.schema, t.Options)
	return again != nil && bytes.Equal(again.Content, m.Content)
}

// holds returns an error if a value for an image cannot be set because the chart or its configuration has a text in its place.
// A map would replace the text, and the templates would print it.
func holds(image map[string]string, configured []map[string]any) error {
	for _, dotted := range sortedKeys(image) {
		for _, data := range configured {
			if at, value := textAt(data, dotted); value != nil && at != dotted {
				return fmt.Errorf("the value %q is %.100q, so %q cannot be set to %q: make it a map in values.yaml, "+
					"or write the values that hold the image in spec.images of the Delivery", at, fmt.Sprint(value), dotted, image[dotted])
			}
		}
	}
	return nil
}

func (p *prepared) compose(j *chart.Job, t chart.Target) (*values.Composed, []fleet.Problem) {
	if len(t.Data) > 0 {
		data := map[string]any{}
		if err := fleet.UnmarshalYAML(t.Data, &data); err != nil {
			return nil, []fleet.Problem{chart.Failure(fmt.Errorf("read the data: %w", plain(err)))}
		}
		return &values.Composed{Data: data}, nil
	}
	var problems []fleet.Problem
	for _, name := range t.Layers {
		if _, ok := p.layers[name]; !ok {
			problems = append(problems, chart.Failure(fmt.Errorf("the layer %q is not there", name)))
		}
		problems = append(problems, p.problems[name]...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	_, wrong := existingSecrets(t)
	set, err := setLayers(t)
	if err := errors.Join(wrong, err); err != nil {
		return nil, []fleet.Problem{chart.Failure(err)}
	}
	return p.composed(t, set, j.Vars)
}

// existingSecrets returns the layer with the names of existing Secrets, by the values that take them.
func existingSecrets(t chart.Target) (*values.Layer, error) {
	names := map[string]string{}
	for _, s := range t.Secrets {
		if s.From == app.FromExisting {
			names[s.Value] = s.Secret
		}
	}
	return values.Set("spec.secrets", names)
}

// setLayers returns the layers of values that were set in the call.
func setLayers(t chart.Target) ([]*values.Layer, error) {
	var layers []*values.Layer
	for _, text := range t.Set {
		layer, err := parseSet("--set", text)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	for _, text := range t.SetString {
		layer, err := parseSetString("--set-string", text)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	image, err := values.Set("image", t.Image)
	if err != nil {
		return nil, err
	}
	return append(layers, image), nil
}

func sortedKeys[V any](fields map[string]V) []string { return slices.Sorted(maps.Keys(fields)) }
