package engine

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// render renders the chart with the values of a target. schema is the application's own; optional.
// It returns manifests unless a problem is an error. Values that violate a schema are errors,
// all of which are reported at once.
func (c *helmChart) render(composed *values.Composed, schema *values.Schema, o chart.Options) (*chart.Manifests, []fleet.Problem) {
	manifests, problems, err := c.attempt(composed, schema, o)
	if err != nil {
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindTemplateExecution, Position: fleet.Position{Source: "chart", File: c.name},
			Message: err.Error(), Hint: "correct the chart, or the values it is rendered with",
		})
		manifests = nil
	}
	return manifests, fleet.SortProblems(problems)
}

func (c *helmChart) attempt(composed *values.Composed, schema *values.Schema, o chart.Options) (m *chart.Manifests, problems []fleet.Problem, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, plain(fmt.Errorf("helm failed: %v", r))
		}
	}()
	ch, visible, err := c.visible(composed, o)
	if err != nil {
		return nil, nil, err
	}
	if problems := c.check(ch, visible, composed, schema); len(problems) > 0 {
		return nil, problems, nil
	}
	random := chance{seed: rotations(o.Secrets)}
	files, err := execute(ch, visible, &random, newMeter())
	if err != nil {
		return nil, nil, err
	}
	var s settled
	if len(random.called) > 0 {
		s = c.settle(composed, o, files, &random)
		if problems := c.problems(composed, o, s); len(problems) > 0 {
			return nil, problems, nil
		}
	}
	return collect(ch, files, s.replaced)
}

// made returns what the chart makes up with the values of a target; nothing if it cannot be rendered at all.
func (c *helmChart) made(composed *values.Composed, o chart.Options) (made []chart.Made) {
	defer func() {
		if recover() != nil { // rendering reports it
			made = nil
		}
	}()
	ch, visible, err := c.visible(composed, o)
	if err != nil {
		return nil
	}
	random := chance{seed: rotations(o.Secrets)}
	files, err := execute(ch, visible, &random, newMeter())
	if err != nil || len(random.called) == 0 {
		return nil
	}
	s := c.settle(composed, o, files, &random)
	c.problems(composed, o, s)
	return s.made
}

// rotations returns a text that changes when a Secret is rotated; empty if none is.
func rotations(secrets []app.ChartSecret) string {
	seed := ""
	for _, s := range secrets {
		if s.Rotation != 0 {
			seed += fmt.Sprintf("%s %d\n", s.Name, s.Rotation)
		}
	}
	return seed
}

// visible returns a copy of the chart with the dependencies that the values select, and what its templates see.
func (c *helmChart) visible(composed *values.Composed, o chart.Options) (*helm.Chart, common.Values, error) {
	caps, err := capabilities(o)
	if err != nil {
		return nil, nil, err
	}
	if missing := c.missing(); missing != "" {
		return nil, nil, fmt.Errorf("the chart depends on %q, which is not in its folder charts", missing)
	}
	if wanted := c.loaded.Metadata.KubeVersion; wanted != "" && !util.IsCompatibleRange(wanted, caps.KubeVersion.String()) {
		return nil, nil, fmt.Errorf("the chart requires Kubernetes %s, but the clusters have %s", wanted, caps.KubeVersion.Version)
	}
	ch := copyOf(c.loaded)
	if err := util.ProcessDependencies(ch, composed.Data); err != nil {
		return nil, nil, plain(err)
	}
	visible, err := commonutil.ToRenderValuesWithSchemaValidation(ch, composed.Data,
		common.ReleaseOptions{Name: o.Release, Namespace: o.Namespace, Revision: 1, IsInstall: true}, caps, true)
	if err != nil {
		return nil, nil, plain(err)
	}
	return ch, visible, nil
}

// check checks the values against every schema that applies.
func (c *helmChart) check(ch *helm.Chart, visible common.Values, composed *values.Composed, schema *values.Schema) []fleet.Problem {
	all, err := visible.Table("Values")
	if err != nil {
		return nil // a chart without values
	}
	problems := c.checkChart(ch, all, composed, "")
	if schema != nil {
		problems = append(problems, schema.Check(all, composed, "")...)
	}
	return problems
}

// checkChart checks the values of a chart and of its dependencies, each against its own schema.
func (c *helmChart) checkChart(ch *helm.Chart, visible map[string]any, composed *values.Composed, below string) []fleet.Problem {
	var problems []fleet.Problem
	if len(ch.Schema) > 0 {
		switch found := c.schemas[sha256.Sum256(ch.Schema)]; {
		case found.err != nil:
			problems = append(problems, fleet.Problem{
				Severity: fleet.SeverityError, Kind: fleet.KindConfigSchema, Position: fleet.Position{Source: "chart", File: path.Join(ch.ChartFullPath(), "values.schema.json")},
				Message: found.err.Error(), Hint: "correct the schema",
			})
		case found.schema != nil:
			problems = append(problems, found.schema.Check(visible, composed, below)...)
		}
	}
	for _, d := range ch.Dependencies() {
		// Named like values, so that two dependencies with the same name (by an alias) do not share a path.
		if own, ok := visible[d.Name()].(map[string]any); ok {
			problems = append(problems, c.checkChart(d, own, composed, values.Join(below, d.Name()))...)
		}
	}
	return problems
}

// execute runs the templates, and returns the output of each file.
func execute(ch *helm.Chart, visible common.Values, random *chance, m *workMeter) (map[string]string, error) {
	e := engine.Engine{CustomTemplateFuncs: m.metered()}
	maps.Copy(e.CustomTemplateFuncs, random.functions())
	maps.Copy(e.CustomTemplateFuncs, m.functions())
	files, err := e.Render(ch, visible) //nolint:staticcheck // the other one needs a context, only for lookups in a cluster
	switch {
	case m.exceeded != nil:
		return nil, m.exceeded
	case err != nil:
		return nil, plain(err)
	}
	size := 0
	for name, text := range files {
		if size += len(text); size > maxOutput {
			return nil, fmt.Errorf("the manifests have more than %d MiB", maxOutput>>20)
		}
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	return files, nil
}

// collect orders the manifests: definitions, then objects in installation order, then hooks. Documents in replaced
// are those that take the place of others.
func collect(ch *helm.Chart, files map[string]string, replaced map[string][]document) (*chart.Manifests, []fleet.Problem, error) {
	objects, hooks, err := sorted(files)
	if err != nil {
		return nil, nil, err
	}
	var w writer
	for _, crd := range ch.CRDObjects() {
		w.add(crd.Filename, string(crd.File.Data))
	}
	put := func(d document) {
		instead, ok := replaced[d.key()]
		if !ok {
			instead = []document{d}
		}
		for _, d := range instead {
			w.put(d)
		}
	}
	for _, o := range objects {
		put(o)
	}
	w.trim()
	var notices []fleet.Problem
	for _, h := range hooks {
		switch {
		case slices.ContainsFunc(h.events, installs):
			put(h.document)
			if h.runsOnce() {
				notices = append(notices, h.stays(templatesOf(ch)))
			}
		case slices.Contains(h.events, release.HookTest): // omitted without a notice, as with --skip-tests
		default:
			notices = append(notices, h.leftOut())
		}
	}
	m, err := w.manifests()
	return m, notices, err
}
