package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Charts renders a job. Charts are programs that anyone can propose, and some of their functions are bounded by memory
// alone, so a caller passes a function that renders in a process with limits. It always returns a result.
type Charts func(job *chart.Job) *chart.Result

// NoCharts renders nothing: every target of a job has a problem.
func NoCharts(job *chart.Job) *chart.Result {
	_, result := job.Rest(nil)
	result.Fail(errors.New("charts are not rendered here"))
	return result
}

// newChartTemplate returns a template whose chart was not loaded yet; see [Library.LoadCharts].
func newChartTemplate(source *fleet.Template) *Template {
	files := make([]chart.File, 0, len(source.ChartFiles))
	for _, f := range source.ChartFiles {
		files = append(files, chart.File{Path: f.Path, Content: f.Content, Symlink: f.Symlink})
	}
	return &Template{source: source, chart: files, charted: true, keys: newManifestKeys(source)}
}

// LoadCharts loads the charts of templates that were not loaded for an earlier library. A template whose chart
// cannot be loaded is a problem, and holds the assignments that use it.
func (l *Library) LoadCharts(run Charts) []fleet.Problem {
	var problems []fleet.Problem
	for _, name := range slices.Sorted(maps.Keys(l.own)) {
		own := l.own[name]
		if own.parsed == nil || !own.parsed.charted || own.loaded {
			continue
		}
		t := own.parsed
		loaded := *own // an earlier library shares the entry
		loaded.loaded = true
		job := &chart.Job{Form: chart.FormChart, Files: t.chart, Targets: []chart.Target{{Name: name, LoadOnly: true}}}
		for _, r := range run(job).Targets {
			loaded.loaded = !r.Unsettled
			for _, p := range r.Problems {
				loaded.parsed = nil
				loaded.problems = append(slices.Clone(loaded.problems), fleet.Problem{
					Severity: fleet.SeverityError, Kind: fleet.KindTemplateSyntax, Object: fleet.Ref{Kind: "Template", Name: name}, Position: t.source.Position,
					Message: fmt.Sprintf("the chart %q cannot be used: %s", t.source.Chart, p.Message), Hint: "correct the chart",
				})
			}
		}
		l.own[name] = &loaded
		problems = append(problems, loaded.problems...)
	}
	return problems
}

// HasChart reports whether the template is a chart.
func (t *Template) HasChart() bool { return t.charted }

// RenderedCharts are the results of charts, by template and assignment.
type RenderedCharts map[*Template]map[string]chart.Rendered

// Add renders a template's chart for assignments. The release is named after the target.
func (r RenderedCharts) Add(run Charts, t *Template, assignments []*Data) {
	job := &chart.Job{Form: chart.FormChart, Files: t.chart}
	r[t] = map[string]chart.Rendered{}
	for _, d := range assignments {
		target := chart.Target{Name: d.assignment(), Options: chart.Options{Release: d.release(), Namespace: d.Namespace}}
		var err error
		if target.Data, err = yaml.Marshal(d.values()); err != nil {
			r[t][target.Name] = chart.Rendered{Name: target.Name, Problems: []fleet.Problem{{
				Severity: fleet.SeverityError, Kind: fleet.KindTemplateExecution, Message: fmt.Sprintf("write the data: %v", err),
			}}}
			continue
		}
		job.Targets = append(job.Targets, target)
	}
	if len(job.Targets) == 0 {
		return
	}
	for _, rendered := range run(job).Targets {
		r[t][rendered.Name] = rendered
	}
}

// UseCharts sets the results that the worker takes for templates that are charts.
func (w *Worker) UseCharts(r RenderedCharts) { w.charts = r }

// Unsettled reports whether the chart of a template failed for an assignment for a reason that another attempt may not have.
func (r RenderedCharts) Unsettled(t *Template, d *Data) bool { return r[t][d.assignment()].Unsettled }

// chartOutput returns what a chart rendered for an assignment.
func (w *Worker) chartOutput(t *Template, d *Data) ([]byte, []fleet.Problem, error) {
	rendered, ok := w.charts[t][d.assignment()]
	if !ok || rendered.Manifests == nil && len(rendered.Problems) == 0 {
		rendered.Manifests = nil
		rendered.Problems = []fleet.Problem{{Severity: fleet.SeverityError, Kind: fleet.KindTemplateExecution, Message: "the chart was not rendered"}}
	}
	var warnings []fleet.Problem
	for _, p := range rendered.Problems {
		p.Object, p.Assignment = fleet.Ref{Kind: "Template", Name: t.source.Name}, d.assignment()
		if p.Position.File == "" || p.Position.Source == "chart" {
			p.Position = t.source.Position
		}
		if p.Severity == fleet.SeverityError {
			return nil, nil, &Error{p}
		}
		warnings = append(warnings, p)
	}
	content := append(trimDocument(slices.Clone(rendered.Manifests.Content)), '\n')
	content = bytes.ReplaceAll(content, []byte("\n\n"+separator), []byte("\n"+separator))
	if refused := judge(content, nil).broken; refused != nil {
		return nil, nil, &Error{fleet.Problem{
			Severity: fleet.SeverityError, Kind: refused.kind, Object: fleet.Ref{Kind: "Template", Name: t.source.Name}, Position: t.source.Position,
			Assignment: d.assignment(), Message: fmt.Sprintf("line %d of the rendered file: %s", refused.line, refused.message), Hint: refused.hint,
		}}
	}
	return content, warnings, nil
}

// maxRelease is the maximum length of a Helm release name.
const maxRelease = 53

func (d *Data) release() string { return fleet.Shorten(d.DeploymentTargetName, maxRelease) }

// values returns the data as values of a chart.
func (d *Data) values() map[string]any {
	return map[string]any{
		"DeploymentTargetName": d.DeploymentTargetName, "Namespace": d.Namespace, "Environment": d.Environment,
		"Workspace": d.Workspace, "Workload": d.Workload, "Labels": d.Labels, "Manifests": d.Manifests,
		"ClusterType": d.ClusterType, "ClusterTypeLabels": d.ClusterTypeLabels, "Cluster": d.Cluster, "ClusterLabels": d.ClusterLabels, "ConfigData": d.ConfigData,
		"Grants": d.grants(), "DependsOn": d.dependencies(), "Wave": d.Wave, "Repo": d.Repo, "Branch": d.Branch, "Path": d.Path,
	}
}

// dependencies returns what the assignment depends on as values of a chart.
func (d *Data) dependencies() []map[string]any {
	all := make([]map[string]any, len(d.DependsOn))
	for i, dep := range d.DependsOn {
		all[i] = map[string]any{
			"DeploymentTargetName": dep.DeploymentTargetName, "Workload": dep.Workload, "Workspace": dep.Workspace,
			"Namespace": dep.Namespace, "Manifests": dep.Manifests,
		}
	}
	return all
}

// grants returns the grants as values of a chart.
func (d *Data) grants() []map[string]any {
	all := make([]map[string]any, len(d.Grants))
	for i, g := range d.Grants {
		all[i] = map[string]any{"Name": g.Name, "ClusterRole": g.ClusterRole, "Namespace": g.Namespace, "ClusterWide": g.ClusterWide}
	}
	return all
}
