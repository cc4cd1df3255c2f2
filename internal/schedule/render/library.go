package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Library holds the parsed templates of an environment. It is safe for concurrent use.
type Library struct {
	own     map[string]*entryOf
	builtin map[string]*Template
}

// entryOf is one template of the environment: parsed, or what keeps it from being used.
type entryOf struct {
	kind   v1alpha1.TemplateType // empty when nobody could read it
	digest fleet.Digest
	parsed *Template // nil when it cannot be used
	// problems are what parsing found.
	problems []fleet.Problem
}

// NewLibrary parses the templates of a snapshot and puts the built-in ones behind them.
// A template that does not parse is a problem, and what is rendered with it is held.
//
// previous is the library of an earlier snapshot, or nil: templates that did not change since are taken from there.
func NewLibrary(s *fleet.Snapshot, previous *Library) (*Library, []fleet.Problem) {
	l := &Library{own: map[string]*entryOf{}, builtin: builtinTemplates()}
	var problems []fleet.Problem
	for _, u := range s.Unreadable {
		if u.Ref.Kind == "Template" {
			l.own[u.Ref.Name] = &entryOf{problems: []fleet.Problem{unreadable(u)}}
		}
	}
	for _, source := range s.Templates {
		own := previous.unchanged(source)
		if own == nil {
			own = newEntry(source)
		}
		l.own[source.Name] = own
		problems = append(problems, own.problems...)
	}
	fleet.SortProblems(problems)
	return l, problems
}

func newEntry(source *fleet.Template) *entryOf {
	t, problems := newTemplate(source)
	return &entryOf{kind: source.Type, digest: source.Digest, parsed: t, problems: problems}
}

// unchanged returns what was made of a template before; nil when it was another one.
func (l *Library) unchanged(source *fleet.Template) *entryOf {
	if l == nil {
		return nil
	}
	if own := l.own[source.Name]; own != nil && own.digest == source.Digest {
		return own
	}
	return nil
}

// problem returns why a template cannot be used.
func (e *entryOf) problem() *fleet.Problem {
	i := slices.IndexFunc(e.problems, func(p fleet.Problem) bool { return p.Severity == fleet.SeverityError })
	problem := e.problems[max(i, 0)]
	return &problem
}

func unreadable(u fleet.Unreadable) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindTemplateMissing,
		Object:   u.Ref,
		Position: u.Position,
		Message:  fmt.Sprintf("template %q exists and cannot be read", u.Ref.Name),
		Hint:     "see the other problems of this file",
	}
}

// Find returns the template of a type and name: the environment's own, else the built-in one of that name.
// The problem is nil when the environment's own template was found; a notice when a built-in stands in;
// an error when there is neither, or when the template is broken, and then the template is nil.
func (l *Library) Find(kind v1alpha1.TemplateType, name string) (*Template, *fleet.Problem) {
	own := l.own[name]
	if own != nil && own.parsed == nil && (own.kind == "" || own.kind == kind) {
		return nil, own.problem()
	}
	if own != nil && own.kind == kind {
		return own.parsed, nil
	}
	if t := l.builtin[name]; t != nil && t.source.Type == kind {
		return t, l.standIn(own, kind, name)
	}
	return nil, l.missing(own, kind, name)
}

// standIn is the notice that a built-in template is used.
func (l *Library) standIn(own *entryOf, kind v1alpha1.TemplateType, name string) *fleet.Problem {
	p := &fleet.Problem{
		Severity: fleet.SeverityNotice,
		Kind:     fleet.KindTemplateBuiltin,
		Object:   fleet.Ref{Kind: "Template", Name: name},
		Message:  fmt.Sprintf("there is no template %q of type %s, and the built-in one is used", name, kind),
		Hint:     "add the template to the control plane to change what it writes",
	}
	p.Hint = otherType(own, p.Hint)
	return p
}

func (l *Library) missing(own *entryOf, kind v1alpha1.TemplateType, name string) *fleet.Problem {
	p := &fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindTemplateMissing,
		Object:   fleet.Ref{Kind: "Template", Name: name},
		Message:  fmt.Sprintf("there is no template %q of type %s", name, kind),
	}
	names := l.names(kind)
	p.Hint = "templates of this type: " + strings.Join(names, ", ")
	if name == "" {
		p.Object = fleet.Ref{}
		p.Message = fmt.Sprintf("no template of type %s is named", kind)
		p.Hint = "name one in the cluster type; " + p.Hint
	} else if near := fleet.Nearest(name, names); near != "" {
		p.Hint = fmt.Sprintf("did you mean %q? %s", near, p.Hint)
	}
	p.Hint = otherType(own, p.Hint)
	return p
}

// otherType puts before a hint that a template of the right name has another type.
func otherType(own *entryOf, hint string) string {
	if own == nil || own.kind == "" {
		return hint
	}
	return fmt.Sprintf("the environment's template of that name has the type %s; %s", own.kind, hint)
}

// names returns the names of all templates of a type, sorted.
func (l *Library) names(kind v1alpha1.TemplateType) []string {
	var names []string
	for name, own := range l.own {
		if own.kind == kind {
			names = append(names, name)
		}
	}
	for name, t := range l.builtin {
		if t.source.Type == kind && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
