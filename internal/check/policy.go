package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// PolicyOf merges the check policies of an environment, and returns their problems. For each rule, scan and level the
// last definition takes precedence, which is that of the environment
// branch. If a policy cannot be read, nothing passes.
func PolicyOf(s *fleet.Snapshot) (Policy, []fleet.Problem) {
	p := Policy{Environment: s.Environment, Levels: map[string]Level{}, Unreadable: unreadable(s)}
	rules, scans := map[string]Rule{}, map[string]Scan{}
	for _, policy := range s.CheckPolicies {
		for _, r := range policy.Value.Spec.Rules {
			rules[r.Name] = ruleOf(r)
		}
		for _, scan := range policy.Value.Spec.Scans {
			scans[scan.Name] = scanOf(scan)
		}
		for _, e := range policy.Value.Spec.Exceptions {
			p.Exceptions = append(p.Exceptions, exceptionOf(e))
		}
	}
	builtIn := DefaultLevels()
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if _, taken := builtIn[name]; !taken {
			p.Rules = append(p.Rules, rules[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(scans)) {
		if _, taken := builtIn[name]; !taken && rules[name].Name == "" {
			p.Scans = append(p.Scans, scans[name])
		}
	}
	admitted, problems := admissionRules(s, func(name string) bool {
		_, taken := builtIn[name]
		return taken || rules[name].Name != "" || scans[name].Name != ""
	})
	p.Rules = append(p.Rules, admitted...)
	var policies []string
	for _, r := range admitted {
		policies = append(policies, r.Name)
	}
	known := slices.Concat(policies, slices.Sorted(maps.Keys(rules)), slices.Sorted(maps.Keys(scans)), slices.Sorted(maps.Keys(builtIn)))
	for _, policy := range s.CheckPolicies {
		problems = append(problems, p.name(policy, rules, known)...)
	}
	for _, d := range s.Definitions {
		if p.Definitions == nil {
			p.Definitions = map[string][]byte{}
		}
		p.Definitions[d.Position.String()] = d.Document
	}
	return p, append(problems, uncompiled(s, p.Rules)...)
}

func ruleOf(r v1alpha1.CheckRule) Rule {
	rule := Rule{
		Name: r.Name, Kinds: r.Kinds, Expression: r.Expression, Message: r.Message, MessageExpression: r.MessageExpression,
		Hint: r.Hint, Level: Level(r.Level),
	}
	for _, v := range r.Variables {
		rule.Variables = append(rule.Variables, Variable{v.Name, v.Expression})
	}
	return rule
}

// name adds the levels of a policy, and reports names that are unknown or already used. A scan with such a name does
// not run, so its policy counts as unreadable.
func (p *Policy) name(policy fleet.Object[v1alpha1.CheckPolicy], rules map[string]Rule, known []string) []fleet.Problem {
	var problems []fleet.Problem
	report := func(message, hint string) {
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindInvalidValue, Object: policy.Ref, Position: policy.Position, Message: message, Hint: hint,
		})
	}
	builtIn, spec := DefaultLevels(), policy.Value.Spec
	for _, r := range spec.Rules {
		if _, taken := builtIn[r.Name]; taken {
			report(fmt.Sprintf("the rule %q has the name of a built-in rule", r.Name), "give it a unique name")
		}
	}
	for _, scan := range spec.Scans {
		if _, taken := builtIn[scan.Name]; taken || rules[scan.Name].Name != "" {
			report(fmt.Sprintf("the scan %q has the name of a rule", scan.Name), "give it a unique name; until then nothing passes")
			p.Unreadable = append(p.Unreadable, policy.Ref.Name)
		}
	}
	for _, e := range spec.Exceptions {
		if !slices.Contains(known, e.Rule) {
			report(fmt.Sprintf("the exception is for an unknown rule %q", e.Rule), meantRule(e.Rule, known))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Levels)) {
		if !slices.Contains(known, name) {
			report(fmt.Sprintf("the level is for an unknown rule %q", name), meantRule(name, known))
			continue
		}
		p.Levels[name] = Level(spec.Levels[name])
	}
	return problems
}

// uncompiled returns a problem for each rule whose expression cannot be used, at its policy.
func uncompiled(s *fleet.Snapshot, rules []Rule) []fleet.Problem {
	compiled, err := compile(rules)
	if err != nil {
		return nil // New returns the error
	}
	broken := map[string]error{}
	for _, r := range compiled {
		broken[r.Name+"\x00"+r.Expression] = r.broken
	}
	var problems []fleet.Problem
	for _, policy := range s.CheckPolicies {
		for _, r := range policy.Value.Spec.Rules {
			if err := broken[r.Name+"\x00"+r.Expression]; err != nil {
				problems = append(problems, fleet.Problem{
					Severity: fleet.SeverityError, Kind: fleet.KindInvalidValue, Object: policy.Ref, Position: policy.Position,
					Message: fmt.Sprintf("the rule %q cannot be used: %v", r.Name, err), Hint: "correct its expression; until then nothing passes",
				})
			}
		}
	}
	return problems
}

func meantRule(name string, known []string) string {
	if near := fleet.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "docs/reference/checks.md lists the rules"
}

// unreadable returns the names of the check policies that cannot be read.
func unreadable(s *fleet.Snapshot) []string {
	var names []string
	for _, u := range s.Unreadable {
		if u.Ref.Kind == "CheckPolicy" || u.Ref.Kind == "ValidatingAdmissionPolicy" {
			names = append(names, u.Ref.Name)
		}
	}
	slices.Sort(names)
	return names
}
