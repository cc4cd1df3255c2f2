package chart

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// render renders every target.
func (j *Job) render() *Result {
	p := j.prepare()
	result := &Result{Targets: make([]Rendered, len(j.Targets))}
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
	chart  *Chart
	schema *values.Schema
	// layers and problems are those of the values files.
	layers   map[string]*values.Layer
	problems map[string][]fleet.Problem
	// err is the reason why no target can be rendered.
	err error
}

func (j *Job) prepare() *prepared {
	p := &prepared{layers: map[string]*values.Layer{}, problems: map[string][]fleet.Problem{}}
	if j.Form == FormChart {
		p.chart, p.err = Load(j.Files)
	}
	if len(j.Schema) > 0 && p.err == nil {
		p.schema, p.err = values.CompileSchema(fleet.Position{Source: "source", File: j.SchemaFile}, j.Schema)
	}
	for name, content := range j.Config {
		p.layers[name], p.problems[name] = values.Parse(j.ConfigSource, name, content)
	}
	return p
}

// target renders one target.
func (p *prepared) target(j *Job, t Target) Rendered {
	r := Rendered{Name: t.Name}
	composed, problems := p.compose(j, t)
	if p.err != nil {
		problems = append(problems, failure(p.err))
	}
	if composed != nil && len(composed.Keys) > 0 {
		r.Keys = composed.Keys
		text, err := composed.YAML()
		if err != nil {
			problems = append(problems, failure(err))
		}
		r.Values = text
	}
	if len(problems) == 0 {
		r.Manifests, problems = p.manifests(j, t, composed)
	}
	r.Problems = fleet.SortProblems(problems)
	return r
}

func (p *prepared) manifests(j *Job, t Target, composed *values.Composed) (*Manifests, []fleet.Problem) {
	var m *Manifests
	var err error
	switch j.Form {
	case FormChart:
		return p.chart.Render(composed, p.schema, t.Options)
	case FormKustomization:
		m, err = Kustomize(j.Files, t.Folder)
	case FormManifests:
		m, err = Plain(j.Files, t.Folder)
	default:
		err = fmt.Errorf("the form %q is not known", j.Form)
	}
	if err != nil {
		return nil, []fleet.Problem{failure(err)}
	}
	return m, nil
}

// compose composes the values of a target.
func (p *prepared) compose(j *Job, t Target) (*values.Composed, []fleet.Problem) {
	var layers []*values.Layer
	var problems []fleet.Problem
	for _, name := range t.Layers {
		layer, ok := p.layers[name]
		if !ok {
			problems = append(problems, failure(fmt.Errorf("the layer %q is not there", name)))
		}
		problems = append(problems, p.problems[name]...)
		layers = append(layers, layer)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	set, err := t.set()
	if err != nil {
		return nil, []fleet.Problem{failure(err)}
	}
	return values.Compose(append(layers, set...), j.Vars), nil
}

// set returns the layers of values that were set in the call.
func (t Target) set() ([]*values.Layer, error) {
	var layers []*values.Layer
	for _, text := range t.Set {
		layer, err := values.ParseSet("--set", text)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	for _, text := range t.SetString {
		layer, err := values.ParseSetString("--set-string", text)
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

func sortedKeys(fields map[string]any) []string { return slices.Sorted(maps.Keys(fields)) }
