package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// Renderer renders the charts of templates, in a process with limits: anyone who can open a pull request can propose a chart.
type Renderer interface {
	// Render renders the targets of a job that are not in an earlier result, which may be nil. The only error is that
	// of the context.
	Render(ctx context.Context, job *chart.Job, previous *chart.Result) (*chart.Result, error)
}

// chartsOf returns what builds call to render charts. With a context that ends, it fails, and so does the draft.
func chartsOf(ctx context.Context, r Renderer) render.Charts {
	if r == nil {
		return render.NoCharts
	}
	return func(job *chart.Job) *chart.Result {
		result, err := r.Render(ctx, job, nil)
		if err != nil {
			_, result = job.Rest(nil)
			result.Fail(err)
		}
		return result
	}
}

// Limits of a chart in the control plane.
const (
	maxChartFiles = 2000
	maxChartBytes = 10 << 20
)

// readCharts reads the charts of templates, by template. A chart's folder is next to its template.
func (w *walk) readCharts(ctx context.Context) map[string]fleet.Chart {
	charts := map[string]fleet.Chart{}
	ofMain, ofBranch := fleet.ChartTemplates(w.in.Main, w.in.Branch)
	for _, t := range ofMain {
		charts[t.Name] = w.readChart(ctx, w.mainAt, t)
	}
	for _, t := range ofBranch {
		charts[t.Name] = w.readChart(ctx, w.branchAt, t)
	}
	return charts
}

func (w *walk) readChart(ctx context.Context, at Location, t *fleet.Template) fleet.Chart {
	at.Path = path.Join(at.Path, t.Chart)
	files, err := w.Repositories.Files(ctx, at)
	if err != nil {
		return fleet.Chart{Err: err}
	}
	slices.SortFunc(files, func(a, b fleet.File) int { return strings.Compare(a.Path, b.Path) })
	if len(files) > maxChartFiles {
		return fleet.Chart{Err: fmt.Errorf("it has %d files, more than %d", len(files), maxChartFiles)}
	}
	var c fleet.Chart
	id, size := sha256.New(), 0
	for _, f := range files {
		file := fleet.ChartFile{Path: strings.TrimPrefix(strings.TrimPrefix(f.Path, at.Path), "/"), Symlink: f.Symlink}
		if file.Content, err = f.Read(); err != nil {
			return fleet.Chart{Err: fmt.Errorf("read %q: %w", f.Path, err)}
		}
		if size += len(file.Content); size > maxChartBytes {
			return fleet.Chart{Err: fmt.Errorf("it has more than %d MiB", maxChartBytes>>20)}
		}
		fmt.Fprintf(id, "%s\x00%t\x00%d\x00", file.Path, file.Symlink, len(file.Content))
		id.Write(file.Content)
		c.Files = append(c.Files, file)
	}
	c.ID = hex.EncodeToString(id.Sum(nil))
	return c
}
