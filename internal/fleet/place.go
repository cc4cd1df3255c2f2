package fleet

import (
	"fmt"
	"slices"
)

// place is the kind of repository or branch of a document.
type place string

const (
	onMain      place = "on main"
	onBranch    place = "on the environment branch"
	inConfigs   place = "in a configuration repository"
	inWorkloads place = "in an application repository"
)

// counts lists the places where objects of a kind count, the recommended one first.
// Registrations and templates on an environment branch are used with a warning,
// because repositories of the original scheduler have them there.
var counts = map[string][]place{
	kindEnvironment:  {onMain},
	kindRegistration: {onMain, onBranch},
	kindTemplate:     {onMain, onBranch},
	kindBaseRepo:     {onBranch},
	kindGitOpsRepo:   {onBranch},
	kindConfigRepo:   {onBranch},
	kindPolicy:       {onBranch},
	kindClusterType:  {onBranch, inConfigs},
	kindCluster:      {onBranch, inConfigs},
	kindConfigMap:    {onBranch, onMain, inConfigs},
	kindSchema:       {onBranch, onMain, inConfigs},
	kindGrant:        {onBranch, onMain},
	kindCheckPolicy:  {onMain, onBranch},
	kindDefinition:   {onMain, onBranch},
	kindAdmission:    {onMain, onBranch},
	kindWorkload:     {inWorkloads},
	kindTarget:       {inWorkloads, onMain, onBranch},
}

// takes reports whether objects of a kind count at a place.
func (p place) takes(kind string) bool { return slices.Contains(counts[kind], p) }

// misplaced returns a warning for each object at the wrong place.
// Objects of Kubernetes in an application repository are the application's own.
func (p place) misplaced(o *Objects) []Problem {
	var problems []Problem
	o.each(func(w written) {
		ref := w.ref()
		home := counts[ref.Kind][0]
		tolerated := p == onBranch && (ref.Kind == kindRegistration || ref.Kind == kindTemplate)
		switch {
		case p.takes(ref.Kind) && !tolerated,
			p == inWorkloads && foreignVersions[ref.Kind] != "",
			p == onMain && ref.Kind == kindWorkload, p == onBranch && ref.Kind == kindWorkload:
			return
		}
		message := fmt.Sprintf("%s is ignored %s", ref.Kind, p)
		if tolerated {
			message = fmt.Sprintf("%s is not promoted %s, and is used only if main has none with the name", ref.Kind, p)
		}
		problems = append(problems, Problem{
			Severity: SeverityWarning, Kind: KindWrongBranch, Object: ref, Position: w.position(),
			Message: message, Hint: fmt.Sprintf("put it %s", home),
		})
	})
	return problems
}

// take adds the problems and unreadable objects of a source to the snapshot. Unreadable objects of a kind that
// does not count there are ignored, and so are problems of an application repository
// in objects that the scheduler does not read.
//
// owner is that of an application repository. An unreadable file there, or an object without a valid name, counts as its
// registration: it can hold only the owner's workloads, not those of another team.
func (s *Snapshot) take(o *Objects, p place, owner Owner) {
	for _, problem := range o.Problems {
		if p != inWorkloads || !o.foreign[problem] && p.concerns(problem.Object.Kind) {
			s.Problems = append(s.Problems, problem)
		}
	}
	for _, u := range o.Unreadable {
		if u.Ref.Kind == "" || p == inWorkloads && u.Nameless && p.takes(u.Ref.Kind) {
			u.Ref, u.Nameless = owner.registration(), false
		}
		if u.Ref == owner.registration() || p.takes(u.Ref.Kind) {
			u.Owner = owner
			s.Unreadable = append(s.Unreadable, u)
		}
	}
	if p.takes(kindConfigMap) {
		s.Unmarked = append(s.Unmarked, o.Unmarked...)
	}
	s.Problems = append(s.Problems, p.misplaced(o)...)
}

// concerns reports whether a problem in an object of this kind matters.
// An unknown kind may be a misspelled one.
func (p place) concerns(kind string) bool {
	return counts[kind] == nil || p.takes(kind)
}
