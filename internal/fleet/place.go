package fleet

import (
	"fmt"
	"slices"
)

// place is where a document was found. What counts there is the table of the repositories and branches.
type place string

const (
	onMain      place = "on main"
	onBranch    place = "on the environment branch"
	inConfigs   place = "in a configuration repository"
	inWorkloads place = "in an application repository"
)

// counts says where objects of a kind count, the place where they belong first.
// Registrations and templates on an environment branch are used and reported:
// repositories of the original scheduler have them there.
var counts = map[string][]place{
	kindEnvironment:  {onMain},
	kindRegistration: {onMain, onBranch},
	kindTemplate:     {onMain, onBranch},
	kindBaseRepo:     {onBranch},
	kindGitOpsRepo:   {onBranch},
	kindConfigRepo:   {onBranch},
	kindPolicy:       {onBranch},
	kindClusterType:  {onBranch, inConfigs},
	kindConfigMap:    {onBranch, onMain, inConfigs},
	kindSchema:       {onBranch, onMain, inConfigs},
	kindCheckPolicy:  {onMain, onBranch},
	kindDefinition:   {onMain, onBranch},
	kindWorkload:     {inWorkloads},
	kindTarget:       {inWorkloads, onMain, onBranch},
}

// takes says whether objects of a kind count at a place.
func (p place) takes(kind string) bool { return slices.Contains(counts[kind], p) }

// misplaced returns a warning for each object that does not belong where it is.
// Platform configuration that an application team has for itself is none of ours.
func (p place) misplaced(o *Objects) []Problem {
	var problems []Problem
	o.each(func(w written) {
		ref := w.ref()
		home := counts[ref.Kind][0]
		tolerated := p == onBranch && (ref.Kind == kindRegistration || ref.Kind == kindTemplate)
		switch {
		case p.takes(ref.Kind) && !tolerated,
			p == inWorkloads && (ref.Kind == kindConfigMap || ref.Kind == kindDefinition),
			p == onMain && ref.Kind == kindWorkload, p == onBranch && ref.Kind == kindWorkload:
			return
		}
		message := fmt.Sprintf("%s is ignored %s", ref.Kind, p)
		if tolerated {
			message = fmt.Sprintf("%s is not promoted %s, and used only when main has none of the name", ref.Kind, p)
		}
		problems = append(problems, Problem{
			Severity: SeverityWarning, Kind: KindWrongBranch, Object: ref, Position: w.position(),
			Message: message, Hint: fmt.Sprintf("it belongs %s", home),
		})
	})
	return problems
}

// take adds to the snapshot what a source says about itself. What would not count there
// when it were readable holds nothing, and problems of an application repository are the application team's
// unless they lie in what the scheduler reads.
//
// owner is the registration of an application repository. Of a file there that cannot be read nobody knows what it said,
// and of an object without a usable name nobody knows which it is,
// but they could only have spoken of the owner's workloads: one team cannot hold another's.
func (s *Snapshot) take(o *Objects, p place, owner Ref) {
	for _, problem := range o.Problems {
		if p != inWorkloads || !o.foreign[problem] && p.concerns(problem.Object.Kind) {
			s.Problems = append(s.Problems, problem)
		}
	}
	for _, u := range o.Unreadable {
		if u.Ref.Kind == "" || p == inWorkloads && u.Nameless && p.takes(u.Ref.Kind) {
			u.Ref, u.Nameless = owner, false
		}
		if u.Ref == owner || p.takes(u.Ref.Kind) {
			s.Unreadable = append(s.Unreadable, u)
		}
	}
	s.Problems = append(s.Problems, p.misplaced(o)...)
}

// concerns says whether a problem in an object of this kind matters:
// kinds that are not known may be meant for one that counts.
func (p place) concerns(kind string) bool {
	return counts[kind] == nil || p.takes(kind)
}
