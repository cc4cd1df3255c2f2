package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Stage is the definition of an environment.
type Stage struct {
	Name string // required
	// Promotion holds the environment's rules. An environment without rules is only part of explicit chains.
	Promotion *v1alpha1.Promotion
	// Gate is the default of promotion.gate.state. Default: applied.
	Gate v1alpha1.GateState
	// Position is where the rules are defined; problems refer to it.
	Position fleet.Position
}

// Chain holds environments in promotion order. It is immutable.
type Chain struct {
	stages []*stage
}

// stage is an environment of a chain.
type stage struct {
	name  string
	rules *Rules
	// problem is why nothing can be promoted to the environment; empty if its rules are valid.
	problem string
}

// NewChain orders environments by their rules. explicit lists environments in order: it adds those without rules
// to the chain, each after the previous one. Environments with rules keep them.
// Problems are sorted. An environment with a problem is part of the chain, but nothing is promoted to it;
// other environments are not affected.
func NewChain(environments []Stage, explicit []string) (*Chain, []fleet.Problem) {
	b := chainBuilder{written: map[string]Stage{}, stages: map[string]*stage{}}
	var twice []string
	for _, e := range environments {
		if _, known := b.written[e.Name]; known {
			twice = append(twice, e.Name)
		}
		b.written[e.Name] = e
	}
	for _, name := range slices.Sorted(maps.Keys(b.written)) {
		if p := b.written[name].Promotion; p != nil {
			b.add(name, p.After)
		}
	}
	b.addExplicit(explicit)
	for _, name := range twice {
		b.problem(name, fleet.KindDuplicate, "there are several environments of this name", "rename one of them")
	}
	for _, name := range slices.Sorted(maps.Keys(b.stages)) {
		b.checkAfter(b.stages[name])
	}
	b.checkRingBranches()
	chain := &Chain{stages: b.order()}
	return chain, fleet.SortProblems(b.problems)
}

// Names returns the names of the environments in promotion order.
func (c *Chain) Names() []string {
	names := make([]string, len(c.stages))
	for i, s := range c.stages {
		names[i] = s.name
	}
	return names
}

// Rules returns the rules of an environment, or false if it is not in the chain. The rules are shared: do not change them.
func (c *Chain) Rules(environment string) (rules *Rules, ok bool) {
	i := slices.IndexFunc(c.stages, func(s *stage) bool { return s.name == environment })
	if i < 0 {
		return nil, false
	}
	return c.stages[i].rules, true
}

// chainBuilder holds the state of NewChain.
type chainBuilder struct {
	written  map[string]Stage
	stages   map[string]*stage
	problems []fleet.Problem
}

// problem adds a problem of an environment, and prevents promotions to it.
func (b *chainBuilder) problem(name string, kind fleet.ProblemKind, message, hint string) {
	b.problems = append(b.problems, fleet.Problem{
		Severity: fleet.SeverityError, Kind: kind, Object: fleet.Ref{Kind: "Environment", Name: name},
		Position: b.written[name].Position, Message: message, Hint: hint,
	})
	if s := b.stages[name]; s != nil && s.problem == "" {
		s.problem = message
	}
}

func (b *chainBuilder) add(name string, after []string) {
	rules, wrong := parseRules(b.written[name].Promotion, b.written[name].Gate)
	rules.After = slices.Compact(slices.Sorted(slices.Values(after)))
	b.stages[name] = &stage{name: name, rules: rules}
	for _, message := range wrong {
		b.problem(name, fleet.KindInvalidValue, message, "nothing enters the environment until this is corrected")
	}
}

// addExplicit adds the environments of an explicit chain that have no rules.
func (b *chainBuilder) addExplicit(names []string) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			b.problem(name, fleet.KindDuplicate, "the chain names it twice", "name each environment once")
			continue
		}
		if _, known := b.written[name]; !known {
			b.problem(name, fleet.KindMissingObject, "the chain names it and there is no such environment", "correct the chain, or add the environment")
			continue
		}
		if b.stages[name] == nil {
			b.add(name, names[max(i-1, 0):i])
		}
	}
}

// checkAfter checks the environments that come before an environment.
func (b *chainBuilder) checkAfter(s *stage) {
	for _, name := range s.rules.After {
		_, written := b.written[name]
		switch {
		case b.stages[name] != nil:
		case written:
			b.problem(s.name, fleet.KindMissingObject, fmt.Sprintf("it comes after %q, which no commit is promoted to", name),
				"give that one rules of promotion, or name it in the chain")
		default:
			b.problem(s.name, fleet.KindMissingObject, fmt.Sprintf("it comes after %q, and there is no such environment", name),
				"correct spec.promotion.after")
		}
	}
	if circle := b.circle(s.name); circle != nil {
		b.problem(s.name, fleet.KindInvalidValue, "it comes after itself: "+strings.Join(circle, " after "),
			"take one of them out of spec.promotion.after")
	}
}

// checkRingBranches reports environments whose names are those of branches of rings: an environment's branches are usually called as it is, and
// Kalypso moves all branches with the names of rings.
func (b *chainBuilder) checkRingBranches() {
	for _, name := range slices.Sorted(maps.Keys(b.written)) {
		p := b.written[name].Promotion
		if p == nil || len(p.Rings) == 0 {
			continue
		}
		for _, other := range slices.Sorted(maps.Keys(b.written)) {
			if strings.HasPrefix(other, fleet.RingBranch(name, "")) {
				b.problem(other, fleet.KindNameCollision, fmt.Sprintf("its name begins with %q, as the branches of the rings of environment %q do", fleet.RingBranch(name, ""), name),
					"rename the environment")
			}
		}
	}
}

// circle returns the shortest cycle through an environment, or nil.
func (b *chainBuilder) circle(name string) []string {
	ways := [][]string{{name}}
	seen := map[string]bool{}
	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]
		s := b.stages[way[len(way)-1]]
		if s == nil {
			continue
		}
		for _, before := range s.rules.After {
			longer := append(slices.Clone(way), before)
			if before == name {
				return longer
			}
			if !seen[before] {
				seen[before] = true
				ways = append(ways, longer)
			}
		}
	}
	return nil
}

// order sorts the environments so that each follows its predecessors, and by name where the rules leave a choice.
// A cycle has no valid order; its environments are taken by name, and nothing is promoted to them.
func (b *chainBuilder) order() []*stage {
	var ordered []*stage
	done := map[string]bool{}
	left := slices.Sorted(maps.Keys(b.stages))
	for len(left) > 0 {
		i := max(slices.IndexFunc(left, func(name string) bool {
			return !slices.ContainsFunc(b.stages[name].rules.After, func(before string) bool { return b.stages[before] != nil && !done[before] })
		}), 0)
		done[left[i]] = true
		ordered = append(ordered, b.stages[left[i]])
		left = slices.Delete(left, i, i+1)
	}
	return ordered
}
