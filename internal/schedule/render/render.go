package render

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

const separator = "---\n"

// Render returns the output of a template for an assignment. It ends with a newline, and "---" separates manifests.
// The output of a chart is that of [Worker.UseCharts]. Problems are warnings about the output. A non-nil error is an *Error, and the assignment is held.
//
// A problem about the manifests of the target ([fleet.KindTemplateKeys]) has the target as its object, without a position.
func (w *Worker) Render(t *Template, d *Data) ([]byte, []fleet.Problem, error) {
	if refused := t.keys.refuse(t, d); refused != nil {
		return nil, nil, refused
	}
	if t.charted {
		return w.chartOutput(t, d)
	}
	w.out = w.out[:0]
	problems := t.ignored(d)
	for _, m := range t.manifests {
		warnings, err := w.manifest(m, d)
		if err != nil {
			return nil, nil, err
		}
		problems = append(problems, warnings...)
	}
	return slices.Clone(w.out), problems, nil
}

// manifest appends the output of one manifest.
func (w *Worker) manifest(m *manifest, d *Data) ([]fleet.Problem, error) {
	before := len(w.out)
	if before > 0 && m.template.ContentType == v1alpha1.ContentYAML {
		w.out = append(w.out, separator...)
	}
	w.begin(m.traced())
	var err error
	if m.isObject {
		err = w.executeObject(m.object, d)
	} else {
		err = w.execute(m.text, d)
	}
	if err != nil {
		return nil, m.executionError(err, d)
	}
	if !w.trim(m.template.ContentType) {
		w.out = w.out[:before]
		return nil, nil
	}
	return w.judge(m, d)
}

// trim removes empty lines and, in YAML, document markers around the content of the manifest.
// It leaves one newline at the end, and reports whether there is any content.
func (w *Worker) trim(format v1alpha1.ContentType) bool {
	content := w.out[w.start:]
	if format == v1alpha1.ContentYAML {
		before := cap(content)
		content = trimDocument(content)
		w.trace.shift(before - cap(content))
	} else {
		content = bytes.TrimRight(content, " \t\r\n")
	}
	n := copy(w.out[w.start:], content)
	w.out = append(w.out[:w.start+n], '\n')
	return n > 0
}

func trimDocument(content []byte) []byte {
	for {
		line, rest, found := bytes.Cut(content, []byte("\n"))
		if blank := bytes.TrimRight(line, " \t\r"); !found || len(blank) > 0 && !isMarker(line) {
			break
		}
		content = rest
	}
	for {
		content = bytes.TrimRight(content, " \t\r\n")
		last := content[bytes.LastIndexByte(content, '\n')+1:]
		if !isMarker(last) {
			return content
		}
		content = content[:len(content)-len(last)]
	}
}

// isMarker reports whether a line only begins a document.
func isMarker(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// judge returns the warnings about the last manifest, or the error that holds the assignment.
func (w *Worker) judge(m *manifest, d *Data) ([]fleet.Problem, error) {
	var v *verdict
	switch {
	case m.template.ContentType != v1alpha1.ContentYAML:
		return nil, nil
	case m.isObject:
		v = judge(w.out[w.start:], nil)
	default:
		v = m.verdicts.of(&w.trace, w.out[w.start:])
	}
	if v.broken != nil {
		return nil, &Error{w.found(m, fleet.SeverityError, v.broken, d)}
	}
	if refused := v.refused(w.out[w.start:]); refused != nil {
		return nil, &Error{w.found(m, fleet.SeverityError, refused, d)}
	}
	var problems []fleet.Problem
	for i := range v.warnings {
		if !m.reported(v.warnings[i].message) {
			problems = append(problems, w.found(m, fleet.SeverityWarning, &v.warnings[i], d))
		}
	}
	return problems, nil
}

// reported reports whether the same warning was already given about the template's text.
func (m *manifest) reported(message string) bool {
	return slices.ContainsFunc(m.written, func(f finding) bool { return f.message == message })
}

// found returns the problem for a finding. It has the position of the manifest; the line of the file is in the message.
func (w *Worker) found(m *manifest, severity fleet.Severity, f *finding, d *Data) fleet.Problem {
	line := f.line + bytes.Count(w.out[:w.start], []byte("\n"))
	p := m.problem(severity, f.kind, 1, fmt.Sprintf("line %d of the rendered file: %s", line, f.message), f.hint)
	p.Assignment = d.assignment()
	return p
}
