package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Stage is an environment as it is written.
type Stage struct {
	Name string // required
	// Promotion are its rules. Without any it takes part only in a chain that names it.
	Promotion *v1alpha1.Promotion
	// Position is where the rules are written, for problems.
	Position fleet.Position
}

// Chain are environments in an order in which each comes after those that a commit must have run in first.
// It is immutable.
type Chain struct {
	stages []*stage
}

// stage is an environment of a chain.
type stage struct {
	name  string
	rules *Rules
	// problem is why nothing may enter; empty when all is well.
	problem string
}

// NewChain orders environments by their rules. explicit names environments one after the other
// and is how those without rules of their own take part; those that have some keep them.
// Problems come sorted. An environment that has one is part of the chain, and nothing enters it;
// the others are not concerned.
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
	chain := &Chain{stages: b.order()}
	return chain, fleet.SortProblems(b.problems)
}

// Names returns the environments in the order of the chain.
func (c *Chain) Names() []string {
	names := make([]string, len(c.stages))
	for i, s := range c.stages {
		names[i] = s.name
	}
	return names
}

// Rules returns the rules of an environment; ok is false for one that is not in the chain. They are shared; do not change them.
func (c *Chain) Rules(environment string) (rules *Rules, ok bool) {
	i := slices.IndexFunc(c.stages, func(s *stage) bool { return s.name == environment })
	if i < 0 {
		return nil, false
	}
	return c.stages[i].rules, true
}

// chainBuilder is the work of NewChain.
type chainBuilder struct {
	written  map[string]Stage
	stages   map[string]*stage
	problems []fleet.Problem
}

// problem reports what is wrong with an environment, and lets nothing enter it.
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
	rules, wrong := parseRules(b.written[name].Promotion)
	rules.After = slices.Compact(slices.Sorted(slices.Values(after)))
	b.stages[name] = &stage{name: name, rules: rules}
	for _, message := range wrong {
		b.problem(name, fleet.KindInvalidValue, message, "nothing enters the environment until this is corrected")
	}
}

// addExplicit adds the environments of an explicit chain that have no rules of their own.
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

// checkAfter looks at what an environment comes after.
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

// circle returns the shortest way from an environment back to itself; nil when there is none.
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

// order puts each environment after those it comes after, and otherwise by name.
// Of a circle the first by name comes first: no order is right, and nothing enters there.
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
