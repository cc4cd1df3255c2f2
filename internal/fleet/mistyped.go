package fleet

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// Words are the labels of a fleet, as an author knows them: those that objects have, and those that objects ask for. They tell a typo
// from a label that was changed on purpose.
type Words struct {
	has, asked map[word]bool
}

// word is a label, or only its key.
type word struct{ key, value string }

// NewWords collects the labels of a snapshot.
func NewWords(s *Snapshot) *Words {
	w := &Words{has: map[word]bool{}, asked: map[word]bool{}}
	for _, ct := range s.ClusterTypes {
		w.add(w.has, ct.Labels)
		w.add(w.has, map[string]string{"cluster-type": ct.Name})
	}
	for _, c := range s.Clusters {
		w.add(w.has, c.Labels)
		w.add(w.has, map[string]string{"cluster": c.Name})
	}
	for _, t := range s.Targets {
		w.add(w.has, t.Labels)
		w.add(w.has, map[string]string{"deployment-target": t.Name, workloadLabel: t.Workload})
	}
	for _, c := range s.Configs {
		w.add(w.asked, c.Labels)
	}
	for _, p := range s.Policies {
		w.add(w.asked, map[string]string{workspaceLabel: p.Workspace})
		w.ask(p.TargetSelector)
		w.ask(p.ClusterTypeSelector)
	}
	return w
}

func (w *Words) add(to map[word]bool, labels map[string]string) {
	for key, value := range labels {
		to[word{key, ""}], to[word{key, value}] = true, true
	}
}

func (w *Words) ask(selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	w.add(w.asked, selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		w.asked[word{e.Key, ""}] = true
		for _, value := range e.Values {
			w.asked[word{e.Key, value}] = true
		}
	}
}

// Deselected returns the typo because of which a policy does not select a pair, or "" if there is another reason.
func (w *Words) Deselected(p *Policy, t *Target, ct *ClusterType) string {
	workspace := ""
	if p.Workspace != "" && p.Workspace != t.Workspace {
		if workspace = w.value(workspaceLabel, t.Workspace, p.Workspace); workspace == "" {
			return ""
		}
	}
	target, ok := w.selector(p.Targets, t.Labels)
	if !ok {
		return ""
	}
	cluster, ok := w.selector(p.ClusterTypes, ct.Labels)
	if !ok {
		return ""
	}
	return firstText(workspace, target, cluster)
}

// Unlayered returns the typo because of which a ConfigMap does not apply to a pair, or "" if there is another reason.
func (w *Words) Unlayered(c *ConfigMap, t *Target, ct *ClusterType) string {
	names := map[string]string{"cluster-type": ct.Name, "deployment-target": t.Name, workloadLabel: t.Workload}
	if ct.Cluster != "" {
		names["cluster"] = ct.Cluster
	}
	found := ""
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		met, typo := false, ""
		for _, set := range []map[string]string{names, ct.ClusterLabels(), t.Labels} {
			near, ok := w.label(set, key, []string{c.Labels[key]})
			met, typo = met || ok && near == "", firstText(typo, near)
		}
		if !met && typo == "" {
			return ""
		}
		if !met {
			found = firstText(found, typo)
		}
	}
	return found
}

// selector reports whether labels match a selector, apart from typos, and returns the first typo.
func (w *Words) selector(s labels.Selector, set map[string]string) (typo string, ok bool) {
	requirements, selectable := s.Requirements()
	if !selectable {
		return "", false
	}
	for _, r := range requirements {
		if r.Matches(labels.Set(set)) {
			continue
		}
		near := ""
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			near, _ = w.label(set, r.Key(), r.Values().UnsortedList())
		case selection.Exists:
			near = w.key(set, r.Key(), nil)
		}
		if near == "" {
			return "", false
		}
		typo = firstText(typo, near)
	}
	return typo, true
}

// label reports whether a label has one of the values, apart from a typo in its key or value.
func (w *Words) label(set map[string]string, key string, values []string) (typo string, ok bool) {
	slices.Sort(values)
	got, there := set[key]
	switch {
	case there && slices.Contains(values, got):
		return "", true
	case !there:
		typo = w.key(set, key, values)
	default:
		for _, value := range values {
			typo = firstText(typo, w.value(key, got, value))
		}
	}
	return typo, typo != ""
}

// value returns what is similar between the value of a label and one that is asked for: one of them has to be unknown otherwise.
func (w *Words) value(key, got, want string) string {
	if !nearest.IsTypo(got, want) || w.has[word{key, want}] && w.asked[word{key, got}] {
		return ""
	}
	return fmt.Sprintf("%s is %s where %s is asked for", key, quoteShort(got), quoteShort(want))
}

// key is value for the key of a label; values nil are any.
func (w *Words) key(set map[string]string, want string, values []string) string {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		known := w.has[word{want, ""}] && w.asked[word{key, ""}]
		if nearest.IsTypo(key, want) && !known && (values == nil || slices.Contains(values, set[key])) {
			return fmt.Sprintf("there is a label %s where %s is asked for", quoteShort(key), quoteShort(want))
		}
	}
	return ""
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
