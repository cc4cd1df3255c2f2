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

// conditions are what a policy asks of one half of a pair: a workspace and the requirements of a label selector,
// all of which must hold. Whether a requirement holds is Kubernetes' own answer;
// this package only decides which objects it is asked about, and puts it into words.
type conditions struct {
	of           string
	workspace    string              // empty means any
	requirements labels.Requirements // sorted
	never        bool                // the selector is one that selects nothing, whatever there is
}

// compile takes a selector apart. A nil selector selects everything.
func compile(of, workspace string, s labels.Selector) conditions {
	c := conditions{of: of, workspace: workspace}
	if s == nil {
		return c
	}
	requirements, selectable := s.Requirements()
	c.never = !selectable
	// A selector does not promise an order, explanations do.
	c.requirements = slices.SortedFunc(slices.Values(requirements), func(a, b labels.Requirement) int {
		return cmp.Or(cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.String(), b.String()))
	})
	return c
}

// hold says whether an object satisfies all conditions.
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

// failed lists the conditions that an object does not satisfy; none exactly when they hold.
// Unlike hold it does not stop at the first: who repairs a selector wants to see everything at once.
func (c conditions) failed(o object) []Requirement {
	var failed []Requirement
	miss := func(want, have string) {
		failed = append(failed, Requirement{Of: c.of, Want: want, Have: have})
	}
	if c.never {
		miss("nothing", "a selector that selects nothing")
	}
	if !c.inWorkspace(o) {
		miss(workspaceWords(c.workspace), workspaceWords(o.workspace))
	}
	for i := range c.requirements {
		if r := &c.requirements[i]; !r.Matches(o.labels) {
			miss(wantWords(r), haveWords(r, o.labels))
		}
	}
	return failed
}

// workspaceWords serves both sides of a reason: what is wanted and what is there.
func workspaceWords(workspace string) string {
	if workspace == "" {
		return "no workspace"
	}
	return "workspace " + workspace
}

// wantWords returns a requirement as people write it.
func wantWords(r *labels.Requirement) string {
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

// membership writes one value with its sign, several as a set: size=large, size in (large, small).
func membership(key, sign, set string, values []string) string {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	if len(values) == 1 {
		return labelWords(key, sign, values[0])
	}
	return fmt.Sprintf("%s%s(%s)", key, set, strings.Join(values, ", "))
}

// haveWords says what an object has where a requirement failed.
func haveWords(r *labels.Requirement, have labels.Set) string {
	value, ok := have[r.Key()]
	if !ok {
		return "no label " + r.Key()
	}
	words := labelWords(r.Key(), "=", value)
	if op := r.Operator(); op == selection.GreaterThan || op == selection.LessThan {
		// Such a label satisfies neither comparison, which is hard to see from the value alone.
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			words += ", which is not a whole number"
		}
	}
	return words
}

// labelWords writes one label. An empty value is quoted, or nobody would see it.
func labelWords(key, sign, value string) string {
	if value == "" {
		value = `""`
	}
	return key + sign + value
}
