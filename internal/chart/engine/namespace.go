package engine

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	helm "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// probeNamespace is rendered in place of an empty namespace, to find what depends on it.
const probeNamespace = "kalypso-probe"

// namespaceField is how templates read the namespace.
const namespaceField = ".Release.Namespace"

// namespaceless reports the objects that contain an empty .Release.Namespace, as in "http://db..svc". m was rendered without a
// namespace. An empty metadata.namespace is not reported, because reconcilers set it.
func (c *helmChart) namespaceless(m *chart.Manifests, composed *values.Composed, schema *values.Schema, o chart.Options) []fleet.Problem {
	templates := templatesOf(c.loaded)
	mentions := func(t chartTemplate) bool {
		return strings.Contains(t.text, "Namespace") || strings.Contains(t.text, "tpl")
	}
	if !slices.ContainsFunc(templates, mentions) {
		return nil // nearly always: another rendering is not needed
	}
	o.Namespace = probeNamespace
	probe, _ := c.render(composed, schema, o)
	if probe == nil {
		return nil
	}
	was, is := documentsOf(m), documentsOf(probe)
	var problems []fleet.Problem
	for i := range was {
		if i >= len(is) || was[i].source != is[i].source {
			break // other objects: the first one that differs was reported, unless the namespace only selects objects
		}
		field, differs := difference(was[i].fields, is[i].fields)
		if !differs {
			continue
		}
		at := position(templates, was[i].source, field)
		if slices.ContainsFunc(problems, func(p fleet.Problem) bool { return p.Position == at }) {
			continue
		}
		metadata, _ := was[i].fields["metadata"].(map[string]any)
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindMissingField, Object: fleet.Ref{Kind: was[i].kind(), Name: text(metadata, "name")}, Position: at,
			Message: fmt.Sprintf("%s contains %s, which is empty", cmp.Or(field, "it"), namespaceField),
			Hint:    "set spec.chart.namespace of the Delivery, or the namespace of the service, to the namespace that the objects get in the clusters",
		})
	}
	return problems
}

// chartTemplate is a template's text, by its path in the chart.
type chartTemplate struct{ name, text string }

// templatesOf returns the templates of a chart and of its dependencies.
func templatesOf(ch *helm.Chart) []chartTemplate {
	var all []chartTemplate
	for _, t := range ch.Templates {
		all = append(all, chartTemplate{path.Join(ch.ChartFullPath(), t.Name), string(t.Data)})
	}
	for _, d := range ch.Dependencies() {
		all = append(all, templatesOf(d)...)
	}
	return all
}

// documentsOf returns the objects in manifests, without their metadata.namespace.
func documentsOf(m *chart.Manifests) []document {
	var all []document
	for _, part := range chart.Documents(string(m.Content)) {
		source, _, _ := strings.Cut(strings.TrimPrefix(part, "# Source: "), "\n")
		d, err := read(source, part)
		if err != nil || d.fields == nil {
			continue
		}
		if metadata, ok := d.fields["metadata"].(map[string]any); ok {
			delete(metadata, "namespace")
		}
		all = append(all, d)
	}
	return all
}

// difference returns the first field that differs between two values, in the order of keys.
func difference(a, b any) (field string, differs bool) {
	for field := range differences("", a, b) {
		return field, true
	}
	return "", false
}

// differences returns the fields that differ between two values, in the order of keys.
func differences(at string, a, b any) iter.Seq[string] {
	return func(yield func(string) bool) { differ(at, a, b, yield) }
}

// differ reports whether it was not stopped.
func differ(at string, a, b any, yield func(string) bool) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, xMap := a.(map[string]any)
	y, yMap := b.(map[string]any)
	if xMap && yMap {
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, key := range sortedKeys(keys) {
			if !differ(values.Join(at, key), x[key], y[key], yield) {
				return false
			}
		}
		return true
	}
	if x, y := list(a), list(b); x != nil && len(x) == len(y) {
		for i := range y {
			if !differ(fmt.Sprintf("%s[%d]", at, i), x[i], y[i], yield) {
				return false
			}
		}
		return true
	}
	return yield(at)
}

func list(v any) []any { l, _ := v.([]any); return l }

// position returns where the template that made an object reads the namespace for a field, or else where another template does.
func position(templates []chartTemplate, source, field string) fleet.Position {
	for _, own := range []bool{true, false} {
		for _, t := range templates {
			if line := lineOf(t.text, field); line > 0 && (t.name == source) == own {
				return fleet.Position{Source: "chart", File: t.name, Line: line}
			}
		}
	}
	return fleet.Position{Source: "chart", File: source}
}

// lineOf returns the line of a template that reads the namespace for a field; 0 if none does. Lines such as "namespace: {{ ... }}" are for
// fields of that name: the first is usually metadata.namespace, so the last one counts.
func lineOf(text, field string) int {
	last := 0
	for i, line := range strings.Split(text, "\n") {
		isField := strings.HasPrefix(strings.TrimLeft(line, " -"), "namespace:")
		if !strings.Contains(line, namespaceField) || isField != strings.HasSuffix(field, "namespace") {
			continue
		}
		if last = i + 1; !isField {
			break
		}
	}
	return last
}
