package render

import (
	"bytes"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/chart"
	chartvalues "github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// newChartTemplate loads the chart of a template.
func newChartTemplate(source *fleet.Template) (*Template, []fleet.Problem) {
	files := make([]chart.File, 0, len(source.ChartFiles))
	for _, f := range source.ChartFiles {
		files = append(files, chart.File{Path: f.Path, Content: f.Content, Symlink: f.Symlink})
	}
	loaded, err := chart.Load(files)
	if err != nil {
		return nil, []fleet.Problem{{
			Severity: fleet.SeverityError, Kind: fleet.KindTemplateSyntax, Object: fleet.Ref{Kind: "Template", Name: source.Name},
			Position: source.Position, Message: fmt.Sprintf("the chart %q cannot be used: %v", source.Chart, err), Hint: "correct the chart",
		}}
	}
	return &Template{source: source, chart: loaded}, nil
}

// renderChart renders a chart with the data of an assignment as values. The release is named after the target.
func renderChart(t *Template, d *Data) ([]byte, []fleet.Problem, error) {
	manifests, problems := t.chart.Render(&chartvalues.Composed{Data: d.values()}, nil, chart.Options{Release: d.release(), Namespace: d.Namespace})
	var warnings []fleet.Problem
	for _, p := range problems {
		p.Object, p.Assignment = fleet.Ref{Kind: "Template", Name: t.source.Name}, d.assignment()
		if p.Position.File == "" || p.Position.Source == "chart" {
			p.Position = t.source.Position
		}
		if p.Severity == fleet.SeverityError {
			return nil, nil, &Error{p}
		}
		warnings = append(warnings, p)
	}
	content := append(trimDocument(manifests.Content), '\n')
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

// values returns the data as values of a chart. It shares nothing, because charts can change their values.
func (d *Data) values() map[string]any {
	return map[string]any{
		"DeploymentTargetName": d.DeploymentTargetName, "Namespace": d.Namespace, "Environment": d.Environment,
		"Workspace": d.Workspace, "Workload": d.Workload, "Labels": texts(d.Labels), "Manifests": texts(d.Manifests),
		"ClusterType": d.ClusterType, "ClusterTypeLabels": texts(d.ClusterTypeLabels), "ConfigData": deepCopy(d.ConfigData),
		"Repo": d.Repo, "Branch": d.Branch, "Path": d.Path,
	}
}

func texts(from map[string]string) map[string]any {
	m := make(map[string]any, len(from))
	for key, text := range from {
		m[key] = text
	}
	return m
}
