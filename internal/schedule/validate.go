package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// Validation is what is to be said about one environment.
type Validation struct {
	Environment string `json:"environment"`
	// ClusterTypes, Targets and Assignments count what was found.
	ClusterTypes int `json:"clusterTypes"`
	Targets      int `json:"targets"`
	Assignments  int `json:"assignments"`
	// Held counts the assignments that cannot be rendered.
	Held int `json:"held"`
	// Problems are all problems, sorted.
	Problems []fleet.Problem `json:"problems"`
}

// Validate returns the problems of an unpublished draft.
func Validate(draft *Draft) Validation {
	s, b := draft.Loaded.Snapshot, draft.Bundle
	v := Validation{
		Environment:  s.Environment,
		ClusterTypes: len(s.ClusterTypes),
		Targets:      len(s.Targets),
		Assignments:  b.Count(),
		Problems:     append(append([]fleet.Problem{}, b.Problems...), precedence(b)...), // a list even when it is empty
	}
	_, policies := check.PolicyOf(s)
	v.Problems = append(v.Problems, policies...)
	for _, f := range b.Folders {
		for i := range f.Assignments {
			if f.Assignments[i].Held != nil {
				v.Held++
			}
		}
	}
	if len(s.ClusterTypes) == 0 {
		v.Problems = append(v.Problems, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindMissingObject,
			Message: fmt.Sprintf("environment %q has no cluster type: nothing can be scheduled", s.Environment),
			Hint:    "add a ClusterType to its branch",
		})
	}
	v.Problems = fleet.SortProblems(v.Problems)
	return v
}

// precedence lists the configuration keys whose winner is not the one that the original scheduler took.
func precedence(b *bundle.Bundle) []fleet.Problem {
	composer, _ := config.NewComposer(b.Snapshot) // its problems are those of the build
	var problems []fleet.Problem
	for _, ct := range b.Snapshot.ClusterTypes {
		stack := composer.Stack(ct)
		for _, a := range b.Decisions.For(ct.Name) {
			problems = append(problems, composer.Precedence(stack, a.Target)...)
		}
		problems = fleet.SortProblems(problems)
	}
	return problems
}

// unknownEnvironments warns of targets whose environment no Environment object describes: they run nowhere,
// most likely because of a spelling. Without any Environment object nobody knows what exists.
func (w *walk) unknownEnvironments() []fleet.Problem {
	if len(w.known) == 0 || w.unsure {
		return nil
	}
	var problems []fleet.Problem
	for _, fetched := range w.in.Workloads {
		if fetched.Objects == nil {
			continue
		}
		for _, workload := range fetched.Objects.Workloads {
			for _, target := range workload.Value.Spec.DeploymentTargets {
				if target.Environment == "" || target.Environment == w.request.Environment || slices.Contains(w.known, target.Environment) {
					continue
				}
				problems = append(problems, fleet.Problem{
					Severity: fleet.SeverityWarning, Kind: fleet.KindMissingObject,
					Object:   fleet.Ref{Kind: "Workload", Name: workload.Value.Name},
					Position: workload.Position,
					Message:  fmt.Sprintf("target %q is for environment %q, which does not exist", target.Name, target.Environment),
					Hint:     "the environments are " + strings.Join(w.known, ", "),
				})
			}
		}
	}
	return problems
}

// withoutRead leaves out the warnings about Workloads in the control plane that were read through a registration:
// the same repository can be written in many ways, as a URL, by its path, or as ".".
func (w *walk) withoutRead(problems []fleet.Problem) []fleet.Problem {
	type place struct{ file, name string }
	read := map[place]bool{}
	for _, fetched := range w.in.Workloads {
		if fetched.Objects == nil {
			continue
		}
		for _, workload := range fetched.Objects.Workloads {
			read[place{workload.Position.File, workload.Value.Name}] = true
		}
	}
	return slices.DeleteFunc(problems, func(p fleet.Problem) bool {
		return p.Kind == fleet.KindWrongBranch && p.Object.Kind == "Workload" && read[place{p.Position.File, p.Object.Name}]
	})
}
