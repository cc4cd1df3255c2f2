package deliver

import (
	"fmt"
	"path"
	"slices"
	"strings"

	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// templates reads the expressions of the levels.
func (p *part) templates(w *work) {
	for _, level := range w.app.Delivery.Spec.Config.Levels {
		if level.Template == "" || p.err != nil || p.job.Form != chart.FormChart {
			continue
		}
		clean, _ := fleet.CleanPath(level.Template) // validated when it was read
		content, err := w.source.Read(clean)
		if err != nil {
			p.err = fmt.Errorf("read the template %q of the level %s: %w", level.Template, level.Name, err)
			return
		}
		if p.job.Templates == nil {
			p.job.Templates = map[string]chart.File{}
		}
		p.job.Templates[level.Name] = chart.File{Path: clean, Content: content}
	}
}

// layers returns the names of a folder's layers in its job: files of the configuration, and before those of each level its template.
func (w *work) layers(folder values.Folder) []string {
	levels := w.app.Delivery.Spec.Config.Levels
	var names []string
	next := 0
	for _, file := range folder.Files {
		for ; next < min(strings.Count(file, "/"), len(levels)); next++ {
			if levels[next].Template != "" {
				names = append(names, levels[next].Name)
			}
		}
		names = append(names, path.Join(w.config.Location.Path, file))
	}
	return names
}

// facts returns what the expressions among a target's layers can read; nil if there are none.
func (w *work) facts(entry scheduler.WorkloadTarget, folder values.Folder) *values.Facts {
	isExpressions := func(layer string) bool { return path.Base(layer) != values.FileName }
	if !slices.ContainsFunc(w.layers(folder), isExpressions) {
		return nil
	}
	f := &values.Facts{
		Environment: w.environment, Workload: w.app.Workload.Name, Target: entry.Name, Workspace: w.workspace,
		Labels: fleet.TargetLabels(w.app.Workload.Name, w.app.Workload.Labels, entry.Labels), Requests: entry.Requests, Levels: map[string]string{},
	}
	for i, name := range strings.Split(folder.Path, "/") {
		if levels := w.app.Delivery.Spec.Config.Levels; i < len(levels) && name != "" {
			f.Levels[levels[i].Name] = name
		}
	}
	return f
}
