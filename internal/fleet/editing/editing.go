// Package editing decides whether the author of a change may change the configuration values in it.
//
// Schemas say who may change a value, with the keyword editableBy: see package schemas. Each change of a file is a list
// of [Edit]s, and every [Rule] that covers an edited value must name the author, or a group of the author. Values without
// editableBy may be changed by everyone who may change the file.
//
// [Set] makes an edit in the text of a file, which keeps its comments and format.
//
// The rules are those before the change, so that a change cannot give the right that it needs.
package editing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// Author is who made a change.
type Author struct {
	// Name is the name of the user, as editableBy writes it.
	Name string
	// Login is the account of a user that people does not list; for messages. Optional.
	Login string
	// Groups are the groups of the user.
	Groups []string
}

// In reports whether a list of users and groups contains the author. Users are compared without regard to case.
func (a Author) In(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return a.Name != "" && strings.EqualFold(n, a.Name) || slices.Contains(a.Groups, n)
	})
}

// String describes the author, for the end of a sentence.
func (a Author) String() string {
	switch {
	case a.Name == "" && a.Login == "":
		return "the author is not known"
	case a.Name == "":
		return fmt.Sprintf("the login %s is not that of a known user", a.Login)
	case len(a.Groups) == 0:
		return a.Name + " is in no group"
	}
	return a.Name + " is in " + strings.Join(a.Groups, ", ")
}

// Edit is the change of one value in one file.
type Edit struct {
	// Path leads to the value. // required
	Path []schemas.Step
	// Key is the path as text, as the user knows it.
	Key string
	// Verb is what happened to it: [Changed], [Added] or [Removed].
	Verb string
	// Opaque means that the value is compared as a whole, so that anything below it may have changed.
	Opaque bool
	// Object is the object that has the value, if it is part of one.
	Object   fleet.Ref
	Position fleet.Position
}

// What happens to values.
const (
	Changed = "changed"
	Added   = "added"
	Removed = "removed"
)

// Rule is a schema that says who may change values.
type Rule struct {
	// Name is the name of the schema in messages: "ConfigSchema shop".
	Name   string
	rights *schemas.Rights
}

// NewRule returns the rule of a compiled schema.
func NewRule(name string, compiled *jsonschema.Schema) *Rule {
	return &Rule{Name: name, rights: schemas.NewRights(compiled)}
}

// Editors are who may change a value according to one rule.
type Editors struct {
	Rule string
	// Key is what editableBy is declared for. It differs from the value if that is a whole map or list.
	Key   string
	Names []string
}

// Of returns who may change a value; one entry for each declaration that covers it.
func (r *Rule) Of(e Edit) ([]Editors, error) {
	var all []Editors
	names, restricted, err := r.rights.Editors(e.Path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	if restricted {
		all = append(all, Editors{r.Name, e.Key, names})
	}
	if e.Opaque {
		declared, err := r.rights.Declarations(e.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		for _, d := range declared {
			if len(d.Path) > len(e.Path) {
				all = append(all, Editors{r.Name, schemas.PathText(d.Path), d.Names})
			}
		}
	}
	return all, nil
}

// Editors returns who may set the value at a path of keys, for messages; empty if the rule does not say it. A number is the index of a list.
func (r *Rule) Editors(path []string) []string {
	e := Edit{Path: make([]schemas.Step, len(path))}
	for i, key := range path {
		if e.Path[i].Field = key; key != "" && strings.Trim(key, "0123456789") == "" {
			e.Path[i] = schemas.Step{Item: true}
		}
	}
	all, err := r.Of(e)
	if err != nil || len(all) == 0 {
		return nil
	}
	return all[0].Names
}

// Declared returns every declaration of the rule.
func (r *Rule) Declared() ([]schemas.Declaration, error) {
	declared, err := r.rights.Declarations(nil)
	if err != nil {
		err = fmt.Errorf("%s: %w", r.Name, err)
	}
	return declared, err
}

// Judge returns a problem for each edit that the author may not make. rules returns those that cover an edit.
func Judge(author Author, edits []Edit, rules func(Edit) []*Rule) []fleet.Problem {
	var problems []fleet.Problem
	for _, e := range edits {
		for _, r := range rules(e) {
			all, err := r.Of(e)
			if err != nil {
				problems = append(problems, e.problem(err.Error(), "simplify the schema"))
				continue
			}
			for _, editors := range all {
				if !author.In(editors.Names) {
					problems = append(problems, e.refusal(author, editors))
				}
			}
		}
	}
	return fleet.SortProblems(problems)
}

func (e Edit) refusal(author Author, by Editors) fleet.Problem {
	if len(by.Names) == 0 {
		return e.problem(fmt.Sprintf("%s is %s here, but %s lets no user change it: its declarations have no name in common", e.Key, e.Verb, by.Rule),
			"correct editableBy in the schema")
	}
	part := ""
	if by.Key != e.Key {
		part = by.Key + " in it "
	}
	return e.problem(fmt.Sprintf("%s is %s here, but %sis editable by %s only (%s); %s", e.Key, e.Verb, part, Names(by.Names), by.Rule, author),
		fmt.Sprintf("let %s open the pull request, or leave the value as it was", Names(by.Names)))
}

func (e Edit) problem(message, hint string) fleet.Problem {
	return fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindEditRight, Object: e.Object, Position: e.Position, Message: message, Hint: hint}
}

// Names lists users and groups: "dba or ada@example.com".
func Names(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return strings.Join(names, "")
}
