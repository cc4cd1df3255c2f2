package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Unused returns a warning for each policy that selects no target or no cluster type, with a hint at the likely mistake.
func (d *Decisions) Unused() []fleet.Problem {
	var problems []fleet.Problem
	for _, c := range d.candidates {
		var empty, hints []string
		if len(c.targets) == 0 {
			empty = append(empty, "deployment target")
			hints = append(hints, d.hints("target", d.targetIndex, c.target)...)
		}
		if len(c.clusterTypes) == 0 {
			empty = append(empty, "cluster type")
			hints = append(hints, d.hints("cluster type", d.clusterTypeIndex, c.clusterType)...)
		}
		if len(empty) > 0 {
			problems = append(problems, fleet.Problem{
				Severity: fleet.SeverityWarning,
				Kind:     fleet.KindUnusedPolicy,
				Object:   fleet.Ref{Kind: "SchedulingPolicy", Name: c.policy.Name},
				Position: c.policy.Position,
				Message:  "selects no " + strings.Join(empty, " and no "),
				Hint:     strings.Join(hints, "; "),
			})
		}
	}
	return fleet.SortProblems(problems)
}

// hints returns why a policy selects nothing. If something that it may select cannot be read, the policy need not be
// wrong: a similar name would then suggest to select what belongs to another team.
func (d *Decisions) hints(noun string, x *index, c conditions) []string {
	for _, u := range d.unreadable {
		if mayBe(noun, u) && (c.workspace == "" || u.Owner == (fleet.Owner{}) || u.Owner.Workspace == c.workspace) {
			return []string{fmt.Sprintf("it may select a %s that cannot be read; see the errors first", noun)}
		}
	}
	return x.hints(noun, c)
}

// mayBe reports whether an unreadable object, or file, may define a target or a cluster type.
func mayBe(noun string, u fleet.Unreadable) bool {
	switch u.Ref.Kind {
	case "":
		return true
	case "ClusterType":
		return noun == "cluster type"
	case "DeploymentTarget", "Workload", "WorkloadRegistration":
		return noun == "target"
	}
	return false
}

// hints returns why conditions select no object: each condition that no object satisfies,
// or that no object satisfies all of them.
func (x *index) hints(noun string, c conditions) []string {
	if len(x.objects) == 0 {
		return []string{"the environment has no " + noun + "s"}
	}
	var hints []string
	if c.workspace != "" && len(x.byWorkspace[c.workspace]) == 0 {
		hints = append(hints, fmt.Sprintf("no %s is in %s", noun, workspaceText(c.workspace))+
			instead("", c.workspace, "", slices.Sorted(maps.Keys(x.byWorkspace))))
	}
	for i := range c.requirements {
		r := &c.requirements[i]
		if len(x.find(conditions{requirements: labels.Requirements{*r}})) == 0 {
			hints = append(hints, x.unsatisfied(noun, r))
		}
	}
	if c.never {
		hints = append(hints, "the selector cannot match anything")
	}
	if len(hints) == 0 {
		hints = append(hints, fmt.Sprintf("no %[1]s meets all conditions together, though each is met by some %[1]s: %[2]s", noun, c))
	}
	return hints
}

// String lists all conditions: workspace kaizen, size=large.
func (c conditions) String() string {
	var all []string
	if c.workspace != "" {
		all = append(all, workspaceText(c.workspace))
	}
	for i := range c.requirements {
		all = append(all, wantText(&c.requirements[i]))
	}
	return strings.Join(all, ", ")
}

// unsatisfied returns a hint for a requirement that no object satisfies, with a similar label or value.
func (x *index) unsatisfied(noun string, r *labels.Requirement) string {
	if r.Operator() == selection.DoesNotExist {
		// "No target has no label" is correct and unreadable.
		return fmt.Sprintf("every %s has label %s", noun, r.Key())
	}
	none := fmt.Sprintf("no %s has %s", noun, wantText(r))
	label, ok := x.byKey[r.Key()]
	if !ok {
		return none + instead("label ", r.Key(), "labels ", slices.Sorted(maps.Keys(x.byKey)))
	}
	values := slices.Sorted(maps.Keys(label.byValue))
	if want, ok := onlyValue(r); ok {
		return none + instead(r.Key()+"=", want, "", values)
	}
	return none + inUse("", values)
}

// onlyValue returns the value that a requirement asks for, if it is a single one.
func onlyValue(r *labels.Requirement) (string, bool) {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		values := r.ValuesUnsorted()
		return values[0], len(values) == 1
	default:
		return "", false
	}
}

// instead suggests the most similar word, or else lists the words in use.
func instead(prefix, word, plural string, words []string) string {
	if near := fleet.Nearest(word, words); near != "" {
		return fmt.Sprintf(", did you mean %s%s?", prefix, near)
	}
	return inUse(plural, words)
}

// inUse lists the first few words, which is enough to see what they look like.
func inUse(plural string, words []string) string {
	// An empty workspace or value does not help.
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return ""
	}
	const most = 5
	more := ""
	if len(words) > most {
		words, more = words[:most], "..."
	}
	return fmt.Sprintf(" (%sin use: %s%s)", plural, strings.Join(words, ", "), more)
}
