package placement

import (
	"cmp"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Options are what decisions depend on besides the snapshot.
type Options struct {
	// Published is what the GitOps branch has. Nil means nothing.
	Published Published
	// Stays reports whether a published assignment stays even if no policy wants it any more, because something cannot be
	// read. Nil means that none does.
	Stays func(Pair) bool
	// Previous are earlier decisions, which are used again if nothing that decides has changed. The result does not depend on
	// them. Objects with equal digests must be interchangeable.
	Previous *Decisions
	// Answers are what external schedulers and extenders answered to [Questions], by the name of the policy.
	Answers map[string]Answer
}

// Question is what a policy leaves to an external scheduler, or what an extender of the policy is asked.
type Question struct {
	Policy *fleet.Policy
	// Scheduler is the name of the scheduler or extender to ask.
	Scheduler string
	// Extender means that the answer refuses and scores candidates; a scheduler chooses among them.
	Extender bool
	// Targets are the targets with at least one candidate, sorted by name.
	Targets []QuestionTarget
	// ClusterTypes are those that are a candidate of at least one target, sorted by name.
	ClusterTypes []*fleet.ClusterType
}

// QuestionTarget is a target with the cluster types that it may be assigned to.
type QuestionTarget struct {
	*fleet.Target
	// Candidates are the names of the cluster types that all steps before the scheduler let through, sorted.
	Candidates []string
	// Previous are the names of the cluster types that the policy has assigned the target to on the GitOps branch, sorted.
	Previous []string
}

// Pair names a target and a cluster type.
type Pair struct{ Target, ClusterType string }

// Verdict is what a scheduler says about a pair.
type Verdict struct {
	// Reason is for readers of an explanation. It can be empty.
	Reason string
	// Score is for readers of an explanation, too.
	Score int32
}

// Answer is what the scheduler and the extenders of a policy answered. The zero value chooses nothing.
type Answer struct {
	// Err is why there is no usable answer of the scheduler. The policy is held then: its published pairs stay, and it adds
	// none.
	Err error
	// Pairs are the candidates that the scheduler chose.
	Pairs map[Pair]Verdict
	// Extenders are the answers of the policy's extenders, by name. The policy is held if one is missing or has an error.
	Extenders map[string]Extension
}

// Unanswered is an error of an [Answer] or [Extension] with the kind of its problem, and what to do.
type Unanswered struct {
	Kind fleet.ProblemKind
	Hint string
	Err  error
}

// Error returns the message of the cause.
func (u *Unanswered) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unanswered) Unwrap() error { return u.Err }

// Extension is the answer of an extender. A candidate that is neither refused nor scored is let through with the score 0.
type Extension struct {
	Err error
	// Refused are the candidates that the extender does not let through, with the reason.
	Refused map[Pair]string
	// Scores are from 0 to 100.
	Scores map[Pair]int32
}

// Questions returns what external schedulers and extenders have to be asked before decisions are made, sorted by the name of
// the policy: for each policy the question for its scheduler, unless that is the default one, or those for its extenders, in
// their order. A policy without candidates has no questions: its zero [Answer] is complete.
func Questions(s *fleet.Snapshot, o Options) []Question {
	asks := func(p *fleet.Policy) bool { return p.External() || len(p.Extenders) > 0 }
	if !slices.ContainsFunc(s.Policies, asks) {
		return nil
	}
	o.Answers = nil
	solver := newDecisions(s, o).newSolver(o)
	var questions []Question
	for _, r := range solver.rules {
		if !asks(r.policy) {
			continue
		}
		if q := solver.question(r); len(q.Targets) > 0 {
			questions = append(questions, q.addressed()...)
		}
	}
	return questions
}

// question returns what a policy lets through before others decide.
func (s *solver) question(r *rules) Question {
	q := Question{Policy: r.policy}
	used := make([]bool, len(r.c.clusterTypes))
	for k, candidates := range s.candidatePairs(r) {
		if len(candidates) == 0 {
			continue
		}
		t := QuestionTarget{Target: s.d.targets[r.c.targets[k]]}
		for _, i := range candidates {
			used[i] = true
			ct := r.c.clusterTypes[i]
			t.Candidates = append(t.Candidates, s.d.clusterTypes[ct].Name)
			if p, published := s.standing.find(r.c.targets[k], ct); published && slices.Contains(p.policies, r.number) {
				t.Previous = append(t.Previous, s.d.clusterTypes[ct].Name)
			}
		}
		q.Targets = append(q.Targets, t)
	}
	for i, ct := range r.c.clusterTypes {
		if used[i] {
			q.ClusterTypes = append(q.ClusterTypes, s.d.clusterTypes[ct])
		}
	}
	return q
}

// addressed returns the question once for each scheduler or extender of its policy.
func (q Question) addressed() []Question {
	if q.Policy.External() {
		q.Scheduler = q.Policy.Scheduler
		return []Question{q}
	}
	var questions []Question
	for _, e := range q.Policy.Extenders {
		q.Scheduler, q.Extender = e.Name, true
		questions = append(questions, q)
	}
	return questions
}

// Candidate reports whether a pair is one that the question is about.
func (q *Question) Candidate(p Pair) bool {
	i, found := slices.BinarySearchFunc(q.Targets, p.Target, func(t QuestionTarget, name string) int { return cmp.Compare(t.Name, name) })
	if !found {
		return false
	}
	_, found = slices.BinarySearch(q.Targets[i].Candidates, p.ClusterType)
	return found
}
