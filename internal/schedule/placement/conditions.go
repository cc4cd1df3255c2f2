package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// The two halves of a pair, as [Requirement.Of] names them.
const (
	ofTarget      = "target"
	ofClusterType = "clusterType"
)

// conditions are what a policy requires of a target or of a cluster type: a workspace, and a label selector.
// All must hold. Kubernetes' own code evaluates each requirement;
// this package only picks the objects to evaluate, and words the result.
type conditions struct {
	of           string
	workspace    string              // empty means any
	requirements labels.Requirements // sorted
	never        bool                // the selector cannot match anything
}

// compile returns the conditions of a selector. A nil selector matches everything.
func compile(of, workspace string, s labels.Selector) conditions {
	c := conditions{of: of, workspace: workspace}
	if s == nil {
		return c
	}
	requirements, selectable := s.Requirements()
	c.never = !selectable
	// A selector guarantees no order, explanations do.
	c.requirements = slices.SortedFunc(slices.Values(requirements), func(a, b labels.Requirement) int {
		return cmp.Or(cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.String(), b.String()))
	})
	return c
}

// hold reports whether an object satisfies all conditions.
func (c conditions) hold(o object) bool {
	if c.never || !c.inWorkspace(o) {
		return false
	}
	for i := range c.requirements {
		if !c.requirements[i].Matches(o.labels) {
			return false
		}
	}
	return true
}

func (c conditions) inWorkspace(o object) bool {
	return c.workspace == "" || c.workspace == o.workspace
}

// failed returns all conditions that an object does not satisfy. It is empty exactly when hold is true.
func (c conditions) failed(o object) []Requirement {
	var failed []Requirement
	miss := func(want, have string) {
		failed = append(failed, Requirement{Of: c.of, Want: want, Have: have})
	}
	if c.never {
		miss("nothing", "a selector that matches nothing")
	}
	if !c.inWorkspace(o) {
		miss(workspaceText(c.workspace), workspaceText(o.workspace))
	}
	for i := range c.requirements {
		if r := &c.requirements[i]; !r.Matches(o.labels) {
			miss(wantText(r), haveText(r, o.labels))
		}
	}
	return failed
}

func workspaceText(workspace string) string {
	if workspace == "" {
		return "no workspace"
	}
	return "workspace " + workspace
}

// wantText formats a requirement: size=large, label gpu.
func wantText(r *labels.Requirement) string {
	values := r.ValuesUnsorted()
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return membership(r.Key(), "=", " in ", values)
	case selection.NotIn, selection.NotEquals:
		return membership(r.Key(), "!=", " not in ", values)
	case selection.Exists:
		return "label " + r.Key()
	case selection.DoesNotExist:
		return "no label " + r.Key()
	case selection.GreaterThan:
		return r.Key() + " > " + strings.Join(values, " ")
	case selection.LessThan:
		return r.Key() + " < " + strings.Join(values, " ")
	default:
		return r.String()
	}
}

// membership formats one value with its sign, several as a set: size=large, size in (large, small).
func membership(key, sign, set string, values []string) string {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	if len(values) == 1 {
		return labelText(key, sign, values[0])
	}
	return fmt.Sprintf("%s%s(%s)", key, set, strings.Join(values, ", "))
}

// haveText formats the label that an object has where a requirement failed.
func haveText(r *labels.Requirement, have labels.Set) string {
	value, ok := have[r.Key()]
	if !ok {
		return "no label " + r.Key()
	}
	text := labelText(r.Key(), "=", value)
	if op := r.Operator(); op == selection.GreaterThan || op == selection.LessThan {
		// A label that is not a number satisfies neither comparison, which is hard to see from the value alone.
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			text += ", which is not a whole number"
		}
	}
	return text
}

// labelText formats one label. An empty value is quoted, to be visible.
func labelText(key, sign, value string) string {
	if value == "" {
		value = `""`
	}
	return key + sign + value
}
