package render

import (
	"cmp"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Template is a parsed template.
type Template struct {
	source    *fleet.Template
	manifests []*manifest
	chart     []chart.File // instead of manifests, if charted
	charted   bool
	keys      manifestKeys
	unread    []string
	// mentioned are the keys of manifests that its texts mention; nil if they are unknown.
	mentioned []string
}

// Name returns the template's name.
func (t *Template) Name() string { return t.source.Name }

// ContentType returns the format of the output.
func (t *Template) ContentType() v1alpha1.ContentType { return t.source.ContentType }

// FileName returns the file that a template of type reconciler writes.
func (t *Template) FileName() string {
	return string(cmp.Or(t.source.FileName, v1alpha1.FileReconciler))
}

// Digest identifies the template.
func (t *Template) Digest() fleet.Digest { return t.source.Digest }

// manifest is one of a template's manifests: a text, or an object in which each string is a text.
type manifest struct {
	template *fleet.Template
	position fleet.Position
	isObject bool
	text     *program  // unless isObject
	object   *object   // if isObject
	written  []finding // old API versions in the text
	verdicts verdicts
}

// newTemplate parses a template. It returns nil if one of the problems is an error.
func newTemplate(source *fleet.Template) (*Template, []fleet.Problem) {
	if source.Chart != "" {
		return newChartTemplate(source), nil
	}
	t := &Template{source: source, keys: newManifestKeys(source)}
	var problems []fleet.Problem
	broken := false
	for i := range source.Manifests {
		m, err := newManifest(source, &source.Manifests[i])
		if err != nil {
			problems = append(problems, m.syntaxProblem(err))
			broken = true
			continue
		}
		for _, f := range m.written {
			problems = append(problems, m.problem(fleet.SeverityWarning, f.kind, f.line, f.message, f.hint))
		}
		t.manifests = append(t.manifests, m)
	}
	if broken {
		return nil, problems
	}
	t.unread = unread(t)
	t.mentioned, _ = mentioned(t)
	return t, problems
}

// newManifest parses a manifest. If it fails, the manifest still has its position.
func newManifest(source *fleet.Template, written *fleet.TemplateManifest) (*manifest, error) {
	m := &manifest{template: source, position: written.Position, isObject: written.Object != nil}
	var err error
	if m.isObject {
		m.object, err = compileObject(written.Object)
		return m, err
	}
	m.text, err = compile(written.Text)
	if source.ContentType == v1alpha1.ContentYAML {
		m.written = writtenVersions(written.Text)
	}
	return m, err
}

// traced reports whether executions are traced, to find the verdict on their output.
func (m *manifest) traced() bool {
	return !m.isObject && m.template.ContentType == v1alpha1.ContentYAML
}

// problem returns a problem at a line of the manifest; the first line is 1.
func (m *manifest) problem(severity fleet.Severity, kind fleet.ProblemKind, line int, message, hint string) fleet.Problem {
	return fleet.Problem{
		Severity: severity,
		Kind:     kind,
		Object:   m.ref(),
		Position: m.at(line),
		Message:  message,
		Hint:     hint,
	}
}

func (m *manifest) ref() fleet.Ref { return fleet.Ref{Kind: "Template", Name: m.template.Name} }

// at returns the position of a line of the manifest. Texts within an object have the object's position.
func (m *manifest) at(line int) fleet.Position {
	position := m.position
	if !m.isObject && position.Line > 0 && line > 0 {
		position.Line += line - 1
	}
	return position
}

func (m *manifest) syntaxProblem(err error) fleet.Problem {
	mistake := asSyntax(err)
	if mistake == nil {
		mistake = &syntaxError{line: 1, message: brief(err.Error())}
	}
	return m.problem(fleet.SeverityError, fleet.KindTemplateSyntax, mistake.line, mistake.message, mistake.hint)
}
