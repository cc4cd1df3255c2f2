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
	found := s.findings(root, v.instance(root, nil))
	if flipped := v.worthFlipping(root, found); len(flipped) > 0 {
		if other := s.findings(root, v.instance(root, flipped)); len(other) < len(found) {
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
func (v *survey) worthFlipping(root *node, found []finding) map[*node]bool {
	flipped := map[*node]bool{}
	for _, f := range found {
		for _, leaf := range v.ambiguous(f.at(root)) {
			flipped[leaf] = true
		}
	}
	return flipped
}

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

func (f finding) at(root *node) *node {
	n, _ := root.find(f.way)
	return n
}

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
func (s *schema) findings(root *node, instance any) []finding {
	var tree *jsonschema.ValidationError
	if !errors.As(s.compiled.Validate(instance), &tree) {
		return nil
	}
	var found []finding
	for _, leaf := range leaves(tree) {
		found = append(found, explain(root, leaf)...)
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.path+" "+a.text, b.path+" "+b.text) })
	return slices.CompactFunc(found, func(a, b finding) bool { return a.path == b.path && a.text == b.text })
}

// find follows a way from n, as far as there is one. It returns the value and its path.
func (n *node) find(way []string) (*node, string) {
	path := ""
	for _, step := range way {
		if n.kind == list {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.items) {
				break
			}
			path += "[" + elementNames(n.items)[i] + "]"
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

// join appends a key to a path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + segment(key)
}

// written returns the first leaf at or below n; nil for a configuration without any value.
func (n *node) written() *node {
	var first *node
	n.eachLeaf("", func(_ string, leaf *node) {
		if first == nil && leaf.from != nil {
			first = leaf
		}
	})
	return first
}
