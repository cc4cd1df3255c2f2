package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// Validation is the result of validating an environment.
type Validation struct {
	Environment  string `json:"environment"`
	ClusterTypes int    `json:"clusterTypes"`
	Targets      int    `json:"targets"`
	Assignments  int    `json:"assignments"`
	// Held counts the assignments that cannot be rendered.
	Held     int             `json:"held"`
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

// precedence lists the values whose meaning depends on quotes, and the keys for which the original scheduler uses another
// layer.
func precedence(b *bundle.Bundle) []fleet.Problem {
	composer, _ := config.NewComposer(b.Snapshot) // its problems are those of the build
	problems := composer.Quoting()
	for _, ct := range b.Snapshot.ClusterTypes {
		stack := composer.Stack(ct)
		for _, a := range b.Decisions.For(ct.Name) {
			problems = append(problems, composer.Precedence(stack, a.Target)...)
		}
		problems = fleet.SortProblems(problems)
	}
	return problems
}

// CompareOriginal returns a notice for each value, schema, list and template of a draft whose result differs from what the
// original scheduler does, with both results.
func CompareOriginal(draft *Draft) []fleet.Problem {
	b := draft.Bundle
	composer, _ := config.NewComposer(b.Snapshot) // its problems are those of the build
	var found []fleet.Problem
	for _, ct := range b.Snapshot.ClusterTypes {
		stack := composer.Stack(ct)
		for _, a := range b.Decisions.For(ct.Name) {
			found = append(found, composer.Original(stack, a.Target)...)
		}
		found = fleet.SortProblems(found)
		if ct.ConfigType == fleet.NoConfig {
			found = append(found, fleet.Problem{
				Severity: fleet.SeverityNotice, Kind: fleet.KindOriginalDiffers, Object: fleet.Ref{Kind: "ClusterType", Name: ct.Name}, Position: ct.Position,
				Message: `config type "none" writes no configuration file here; the original scheduler looks for a template of that name and does not schedule without it`,
			})
		}
	}
	for _, p := range b.Problems {
		theirs := ""
		switch p.Kind {
		case fleet.KindTemplateBuiltin:
			theirs = "the original scheduler has no built-in templates and does not schedule without it"
		case fleet.KindTemplateKeys:
			theirs = "the original scheduler does not tell which keys a template uses"
		case fleet.KindTemplateExecution:
			theirs = `the original scheduler prints "<no value>" for an absent key and goes on`
		default:
			continue
		}
		found = append(found, fleet.Problem{
			Severity: fleet.SeverityNotice, Kind: fleet.KindOriginalDiffers, Object: p.Object, Position: p.Position, Assignment: p.Assignment,
			Message: p.Message + "; " + theirs,
		})
	}
	return fleet.SortProblems(found)
}

// unknownEnvironments warns about targets whose environment has no Environment object, probably because of a typing
// error. Without any Environment object, the environments are unknown. A typo of this environment's name is an error, and the target is
// unreadable.
func (w *walk) unknownEnvironments(s *fleet.Snapshot) []fleet.Problem {
	if len(w.known) == 0 || w.incomplete {
		return nil
	}
	var problems []fleet.Problem
	add := func(environment string, target fleet.Unreadable, p fleet.Problem) {
		if environment == "" || environment == w.request.Environment || slices.Contains(w.known, environment) {
			return
		}
		p.Severity, p.Kind, p.Hint = fleet.SeverityWarning, fleet.KindMissingObject, "the environments are "+strings.Join(w.known, ", ")
		if nearest.IsTypo(environment, w.request.Environment) {
			p.Severity = fleet.SeverityError
			s.Unreadable = append(s.Unreadable, target)
		}
		problems = append(problems, p)
	}
	direct := func(o *fleet.Objects, registration string) {
		for _, target := range o.Targets {
			ref := fleet.Ref{Kind: "DeploymentTarget", Name: target.Value.Name}
			environment := target.Value.Spec.Environment
			add(environment, fleet.Unreadable{Ref: ref, Owner: fleet.Owner{Registration: registration}, Position: target.Position}, fleet.Problem{
				Object: ref, Position: target.Position, Message: fmt.Sprintf("it is for environment %q, which does not exist", environment),
			})
		}
	}
	for _, o := range []*fleet.Objects{w.in.Main, w.in.Branch} {
		if o != nil {
			direct(o, "")
		}
	}
	for _, registration := range slices.Sorted(maps.Keys(w.in.Workloads)) {
		fetched := w.in.Workloads[registration]
		if fetched.Objects == nil {
			continue
		}
		direct(fetched.Objects, registration)
		for _, workload := range fetched.Objects.Workloads {
			name := workload.Value.Name
			for _, target := range workload.Value.Spec.DeploymentTargets {
				add(target.Environment, fleet.Unreadable{
					Ref:   fleet.Ref{Kind: "DeploymentTarget", Name: fleet.TargetName(name, target.Name)},
					Owner: fleet.Owner{Registration: registration, Workload: name}, Position: workload.Position,
				}, fleet.Problem{
					Object: fleet.Ref{Kind: "Workload", Name: name}, Position: workload.Position,
					Message: fmt.Sprintf("target %q is for environment %q, which does not exist", target.Name, target.Environment),
				})
			}
		}
	}
	return problems
}

// withoutRead removes the warnings about Workloads in the control plane that were read through a registration.
// Registrations can refer to the same repository by URL, by path, or by ".".
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
