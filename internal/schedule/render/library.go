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
	own     map[string]*libraryEntry
	builtin map[string]*Template
}

// libraryEntry is one of the environment's templates.
type libraryEntry struct {
	kind     v1alpha1.TemplateType // empty if it is unreadable
	digest   fleet.Digest
	parsed   *Template       // nil if it cannot be used
	problems []fleet.Problem // at least one error if parsed is nil
	loaded   bool            // a chart was loaded, successfully or not
}

// NewLibrary parses the templates of a snapshot. The built-in templates are available as well.
// A template that does not parse is a problem, and holds the assignments that use it.
//
// previous is optional: the library of an earlier snapshot, from which unchanged templates are reused.
func NewLibrary(s *fleet.Snapshot, previous *Library) (*Library, []fleet.Problem) {
	l := &Library{own: map[string]*libraryEntry{}, builtin: builtinTemplates()}
	var problems []fleet.Problem
	for _, u := range s.Unreadable {
		if u.Ref.Kind == "Template" {
			l.own[u.Ref.Name] = &libraryEntry{problems: []fleet.Problem{{
				Severity: fleet.SeverityError,
				Kind:     fleet.KindTemplateMissing,
				Object:   u.Ref,
				Position: u.Position,
				Message:  fmt.Sprintf("template %q exists, but cannot be read", u.Ref.Name),
				Hint:     "see the other problems of this file",
			}}}
		}
	}
	for _, source := range s.Templates {
		own := previous.unchanged(source)
		if own == nil {
			t, found := newTemplate(source)
			own = &libraryEntry{kind: source.Type, digest: source.Digest, parsed: t, problems: found}
		}
		l.own[source.Name] = own
		problems = append(problems, own.problems...)
	}
	fleet.SortProblems(problems)
	return l, problems
}

// unchanged returns the entry of a template, or nil if the template is new or has changed.
func (l *Library) unchanged(source *fleet.Template) *libraryEntry {
	if l == nil {
		return nil
	}
	if own := l.own[source.Name]; own != nil && own.digest == source.Digest {
		return own
	}
	return nil
}

// problem returns why a template cannot be used.
func (e *libraryEntry) problem() *fleet.Problem {
	i := slices.IndexFunc(e.problems, func(p fleet.Problem) bool { return p.Severity == fleet.SeverityError })
	problem := e.problems[max(i, 0)]
	return &problem
}

// Find returns the template of a type and name: the environment's own, else the built-in one.
// The problem is nil for the environment's own template, and a notice for a built-in one.
// If the template does not exist or is broken, the problem is an error and the template is nil.
func (l *Library) Find(kind v1alpha1.TemplateType, name string) (*Template, *fleet.Problem) {
	own := l.own[name]
	if own != nil && own.parsed == nil && (own.kind == "" || own.kind == kind) {
		return nil, own.problem()
	}
	if own != nil && own.kind == kind {
		return own.parsed, nil
	}
	if t := l.builtin[name]; t != nil && t.source.Type == kind {
		return t, &fleet.Problem{
			Severity: fleet.SeverityNotice,
			Kind:     fleet.KindTemplateBuiltin,
			Object:   fleet.Ref{Kind: "Template", Name: name},
			Message:  fmt.Sprintf("template %q of type %s does not exist; the built-in one is used", name, kind),
			Hint:     otherType(own, "to change its output, add the template to the control plane"),
		}
	}
	return nil, l.missing(own, kind, name)
}

func (l *Library) missing(own *libraryEntry, kind v1alpha1.TemplateType, name string) *fleet.Problem {
	p := &fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindTemplateMissing,
		Object:   fleet.Ref{Kind: "Template", Name: name},
		Message:  fmt.Sprintf("template %q of type %s does not exist", name, kind),
	}
	names := l.names(kind)
	p.Hint = "templates of this type: " + strings.Join(names, ", ")
	if name == "" {
		p.Object = fleet.Ref{}
		p.Message = fmt.Sprintf("the cluster type names no template of type %s", kind)
		p.Hint = "add one to the cluster type; " + p.Hint
	} else if near := fleet.Nearest(name, names); near != "" {
		p.Hint = fmt.Sprintf("did you mean %q? %s", near, p.Hint)
	}
	p.Hint = otherType(own, p.Hint)
	return p
}

// otherType prefixes a hint if a template with the right name has another type.
func otherType(own *libraryEntry, hint string) string {
	if own == nil || own.kind == "" {
		return hint
	}
	return fmt.Sprintf("the environment's template with that name has the type %s; %s", own.kind, hint)
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
