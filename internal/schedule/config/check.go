package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// check returns everything that is wrong with a configuration.
//
// Texts are converted to the one type that is asked for in their place. Where texts and another type are asked for,
// as in alternatives, they are tried as texts first; if that fails, they are tried as the other type,
// and whichever attempt has fewer findings counts.
func (s *schema) check(root *node) []fleet.Problem {
	v := &survey{wants: map[*node]want{}}
	if err := v.walk(s.compiled, root, 0); err != nil {
		return []fleet.Problem{s.uncheckable(err)}
	}
	t := &tree{root: root, names: map[*node][]string{}}
	found := s.findings(t, v.instance(root, nil))
	if flipped := v.worthFlipping(t, found); len(flipped) > 0 {
		if other := s.findings(t, v.instance(root, flipped)); len(other) < len(found) {
			found = other
		}
	}
	var problems []fleet.Problem
	for _, f := range found {
		problems = append(problems, s.problem(f))
	}
	return fleet.SortProblems(problems)
}

// worthFlipping lists the ambiguous texts at or below the places with findings.
func (v *survey) worthFlipping(t *tree, found []finding) map[*node]bool {
	flipped, visited := map[*node]bool{}, map[*node]bool{}
	for _, f := range found {
		at, _ := t.find(f.way)
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

// uncheckable is the problem of a schema that compiles and still cannot be used on this configuration.
func (s *schema) uncheckable(err error) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindConfigSchema,
		Object:   s.ref(),
		Position: s.source.Position,
		Message:  err.Error(),
		Hint:     "simplify the schema",
	}
}

// finding is one thing that is wrong with a configuration.
type finding struct {
	// way leads to the value, or to the map that lacks a value.
	way []string
	// path names the key.
	path string
	// text says what is wrong with the key.
	text string
	// missing is true for a required value that is not there.
	missing bool
	// written is the leaf whose position stands for the finding; nil when nothing is written there.
	written *node
}

// problem places a finding where the value is written; what is missing is placed in the map that lacks it,
// or at the schema when that is the configuration as a whole.
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
		if s.source.OnMissing != v1alpha1.MissingHold {
			p.Severity = fleet.SeverityWarning
		}
	}
	return p
}

// findings validates an instance and explains the errors in terms of the tree it was made from.
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

// tree finds values by the ways that errors name.
type tree struct {
	root *node
	// names are the addresses of the elements of lists that were passed.
	names map[*node][]string
}

// find follows a way from the root, as far as there is one. It returns the value and its path.
func (t *tree) find(way []string) (*node, string) {
	n, path := t.root, ""
	for _, step := range way {
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

// address names the i-th element of a list.
func (t *tree) address(n *node, i int) string {
	if t.names[n] == nil {
		t.names[n] = elementNames(n.items)
	}
	return t.names[n][i]
}

// join appends a key to a path.
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
