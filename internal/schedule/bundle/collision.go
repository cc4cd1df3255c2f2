package bundle

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// namespaceCollisions reports assignments of two cluster types with the same namespace, as "a-b" with target "c" and
// "a" with target "b-c" do: a cluster that is a member of both types would mix them up. Only cluster types whose name
// is another one's plus a dash and more can collide, so few have to be compared.
func namespaceCollisions(s *fleet.Snapshot, decisions *placement.Decisions) []fleet.Problem {
	var problems []fleet.Problem
	for _, short := range s.ClusterTypes {
		for _, long := range s.ClusterTypes {
			if strings.HasPrefix(long.Name, short.Name+"-") {
				problems = append(problems, collisions(s.Environment, short, long, decisions)...)
			}
		}
	}
	return problems
}

func collisions(environment string, short, long *fleet.ClusterType, decisions *placement.Decisions) []fleet.Problem {
	namespaces := map[string]string{}
	for _, a := range decisions.For(short.Name) {
		namespaces[render.Namespace(environment, short.Name, a.Target.Name)] = a.Target.Name
	}
	var problems []fleet.Problem
	for _, a := range decisions.For(long.Name) {
		namespace := render.Namespace(environment, long.Name, a.Target.Name)
		if other, ok := namespaces[namespace]; ok {
			problems = append(problems, fleet.Problem{
				Severity:   fleet.SeverityError,
				Kind:       fleet.KindNameCollision,
				Object:     fleet.Ref{Kind: "ClusterType", Name: long.Name},
				Position:   long.Position,
				Assignment: long.Name + "/" + a.Target.Name,
				Message:    fmt.Sprintf("namespace %q is also that of %s/%s", namespace, short.Name, other),
				Hint:       "no cluster should be a member of both cluster types; rename one of them",
			})
		}
	}
	return problems
}
