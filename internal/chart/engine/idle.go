package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	commonutil "helm.sh/helm/v4/pkg/chart/common/util"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
)

// idle returns the values of Set and SetString without effect on a target's manifests. A value that is the same without being set is
// not among them.
func (p *prepared) idle(j *chart.Job, t chart.Target, composed *values.Composed, m *chart.Manifests) []chart.Idle {
	set, err := setLayers(t)
	if err != nil || len(t.Set)+len(t.SetString) == 0 {
		return nil
	}
	var paths []string
	for _, layer := range set[:len(set)-1] { // the last one is the image
		paths = append(paths, layer.Paths()...)
	}
	slices.Sort(paths)
	var idle []chart.Idle
	for _, path := range slices.Compact(paths) {
		if p.changesNothing(j, t, composed, m, path) {
			idle = append(idle, chart.Idle{Path: path, Unknown: !p.knows(j, t, path)})
		}
	}
	return idle
}

// without composes the values of a target without the value that was set at a path.
func (p *prepared) without(j *chart.Job, t chart.Target, path string) *values.Composed {
	set, err := setLayers(t)
	if err != nil {
		return nil
	}
	for i, layer := range set {
		set[i] = layer.Without(path)
	}
	composed, _ := p.composed(t, set, j.Vars)
	return composed
}

// changesNothing reports whether the manifests are the same without a value, although the values are not.
func (p *prepared) changesNothing(j *chart.Job, t chart.Target, composed *values.Composed, m *chart.Manifests, path string) bool {
	other := p.without(j, t, path)
	if other == nil || bytes.Equal(encoded(p.visible(other)), encoded(p.visible(composed))) {
		return false
	}
	again, _ := p.chart.render(other, p.schema, t.Options)
	return again != nil && bytes.Equal(again.Content, m.Content)
}

// visible returns the values that templates see.
func (p *prepared) visible(composed *values.Composed) map[string]any {
	all, err := commonutil.CoalesceValues(copyOf(p.chart.loaded), composed.Data)
	if err != nil {
		return composed.Data
	}
	return all
}

// encoded returns values as JSON, in which numbers of different types are the same.
func encoded(data map[string]any) []byte {
	text, _ := json.Marshal(data) // values came from YAML, so each has a JSON form
	return text
}

// knows reports whether the chart has a value at a path, or a template mentions its key.
func (p *prepared) knows(j *chart.Job, t chart.Target, path string) bool {
	if without := p.without(j, t, path); without != nil {
		if _, value := textAt(p.visible(without), path); value != nil {
			return true
		}
	}
	key := path[strings.LastIndexByte(path, '.')+1:]
	return slices.ContainsFunc(templatesOf(p.chart.loaded), func(t chartTemplate) bool {
		return strings.Contains(t.text, "."+key) || strings.Contains(t.text, fmt.Sprintf("%q", key))
	})
}
