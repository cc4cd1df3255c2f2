package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/fleet/formula"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// schema is a compiled ConfigSchema.
type schema struct {
	source *fleet.Schema
	// order is the position among the schemas of the environment.
	order    int
	compiled *jsonschema.Schema
	rules    formula.Rules // across values
	// editors returns who may set the value at a path, sorted; empty if everyone may who may change the file.
	editors func(path []string) []string
	// broken is the reason why the schema cannot be used. Nil if it can.
	broken *fleet.Problem
}

// compile compiles a schema, by default as draft 2020-12. Formats are checked,
// because users who write "format" in a configuration schema mean it as a check.
func compile(source *fleet.Schema) *schema {
	s := &schema{source: source}
	compiled, err := schemas.Compile(source.Document, schemas.Options{Formats: true})
	if err == nil {
		s.compiled = compiled
		s.rules, err = formula.RulesOf(compiled)
	}
	if err == nil {
		s.editors = editorsOf(source, compiled)
		return s
	}
	s.broken = &fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindConfigSchema,
		Object:   s.ref(),
		Position: source.Position,
		Message:  fmt.Sprintf("the schema cannot be used: %v", err),
		Hint:     "correct the schema; what it applies to is held",
	}
	return s
}

func (s *schema) ref() fleet.Ref { return fleet.Ref{Kind: "ConfigSchema", Name: s.source.Name} }

// check returns everything that is wrong with a configuration.
//
// A string is converted to the type that the schema asks for. Where the schema allows a string and another type,
// as in alternatives, the value is first validated as a string. If that fails, it is validated as the other type,
// and the attempt with fewer findings counts.
func (s *schema) check(root *node) []fleet.Problem {
	v := &survey{wants: map[*node]want{}}
	if err := v.walk(s.compiled, root, 0); err != nil {
		return []fleet.Problem{{
			Severity: fleet.SeverityError,
			Kind:     fleet.KindConfigSchema,
			Object:   s.ref(),
			Position: s.source.Position,
			Message:  err.Error(),
			Hint:     "simplify the schema",
		}}
	}
	t := &tree{root: root, names: map[*node][]string{}}
	found := s.findings(t, v.instance(root, nil))
	if flipped := v.worthFlipping(t, found); len(flipped) > 0 {
		if other := s.findings(t, v.instance(root, flipped)); len(other) < len(found) {
			found = other
		}
	}
	if len(found) == 0 { // rules can rely on the types
		found = s.brokenRules(t, v.instance(root, nil))
	}
	var problems []fleet.Problem
	for _, f := range found {
		problems = append(problems, s.problem(f))
	}
	return fleet.SortProblems(problems)
}

// brokenRules returns the rules across values that an instance breaks.
func (s *schema) brokenRules(t *tree, instance any) []finding {
	var found []finding
	for _, b := range s.rules.Check(instance) {
		n, path := t.find(b.Path)
		f := finding{location: b.Path, path: cmp.Or(path, "the configuration"), text: b.Message}
		if n != t.root {
			f.written = n.first()
		}
		found = append(found, f)
	}
	return found
}

// worthFlipping returns the ambiguous strings at or below the locations of findings.
func (v *survey) worthFlipping(t *tree, found []finding) map[*node]bool {
	flipped, visited := map[*node]bool{}, map[*node]bool{}
	for _, f := range found {
		at, _ := t.find(f.location)
		if visited[at] {
			continue
		}
		visited[at] = true
		for _, leaf := range v.ambiguous(at) {
			flipped[leaf] = true
		}
	}
	return flipped
}

// finding is one thing that is wrong with a configuration.
type finding struct {
	location []string // of the value, or of the map that lacks a value
	path     string   // of the key
	text     string   // what is wrong with the key
	missing  bool     // a required value is missing
	lacks    string   // its key, below the location; empty if several are missing
	written  *node    // the leaf whose position the finding has; nil if there is none
}

// problem returns a finding at the position of the value. A missing value has the position of the map that lacks it,
// or of the schema if that is the configuration itself.
func (s *schema) problem(f finding) fleet.Problem {
	p := fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindConfigSchema,
		Object:   s.ref(),
		Position: s.source.Position,
		Message:  f.path + " " + f.text,
		Hint:     "correct the value or the schema",
	}
	if f.written != nil {
		place := f.written.place()
		p.Position = place.Position
		p.Hint = fmt.Sprintf("correct the value in ConfigMap %s, or the schema", place.ConfigMap)
	}
	if f.missing {
		p.Kind = fleet.KindConfigMissing
		p.Hint = "add the value to a ConfigMap that applies here"
		if f.lacks != "" {
			p.Lacks = f.path
		}
		if names := s.editors(append(slices.Clone(f.location), f.lacks)); f.lacks != "" && len(names) > 0 {
			p.SetBy = editing.Names(names)
			p.Hint += "; " + p.SetBy + " may set it"
		}
		if s.source.OnMissing != v1alpha1.MissingHold {
			p.Severity = fleet.SeverityWarning
		}
	}
	return p
}

// findings validates an instance and explains the errors in terms of its tree.
func (s *schema) findings(t *tree, instance any) []finding {
	var tree *jsonschema.ValidationError
	if !errors.As(s.compiled.Validate(instance), &tree) {
		return nil
	}
	var found []finding
	for _, leaf := range schemas.Leaves(tree) {
		found = append(found, explain(t, leaf)...)
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.path+" "+a.text, b.path+" "+b.text) })
	return slices.CompactFunc(found, func(a, b finding) bool { return a.path == b.path && a.text == b.text })
}

// tree finds values by their location in validation errors.
type tree struct {
	root  *node
	names map[*node][]string // cached addresses of list elements
}

// find follows a location from the root, as far as it exists. It returns the value and its path.
func (t *tree) find(location []string) (*node, string) {
	n, path := t.root, ""
	for _, step := range location {
		if n.kind == list {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.items) {
				break
			}
			path += "[" + t.address(n, i) + "]"
			n = n.items[i]
			continue
		}
		next := n.fields[step]
		if next == nil {
			break
		}
		path = join(path, step)
		n = next
	}
	return n, path
}

// address returns the address of the i-th element of a list.
func (t *tree) address(n *node, i int) string {
	if t.names[n] == nil {
		t.names[n] = elementNames(n.items)
	}
	return t.names[n][i]
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + segment(key)
}

// first returns the first leaf at or below n.
func (n *node) first() *node {
	for !n.leaf() {
		if n.kind == list {
			n = n.items[0]
			continue
		}
		n = n.fields[n.keys()[0]]
	}
	return n
}
