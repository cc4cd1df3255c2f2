package render

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/kalypso-io/kalypso/internal/chart/meter"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Error is the problem of a template that could not be rendered for an assignment.
type Error struct {
	Problem fleet.Problem
}

// Error formats the problem with its position.
func (e *Error) Error() string {
	message := e.Problem.Message
	if e.Problem.Object != (fleet.Ref{}) {
		message = e.Problem.Object.String() + ": " + message
	}
	if position := e.Problem.Position.String(); position != "" {
		message = position + ": " + message
	}
	return message
}

// executionError converts the error of a manifest's execution.
func (m *manifest) executionError(err error, d *Data) *Error {
	p := m.text
	prefix := ""
	if within := (*objectError)(nil); errors.As(err, &within) {
		p, prefix, err = within.at.program, pathPrefix+within.at.path+": ", within.err
	}
	problem := explain(err, p, d, m.position)
	if m.isObject {
		problem.Position = m.position
	}
	problem.Object = m.ref()
	problem.Message = prefix + problem.Message
	return &Error{problem}
}

// explain converts the error of an execution to a problem. The position is that of the text's first line.
// The program is nil if the text did not compile.
func explain(err error, p *program, d *Data, position fleet.Position) fleet.Problem {
	problem := fleet.Problem{
		Severity:   fleet.SeverityError,
		Kind:       fleet.KindTemplateExecution,
		Position:   position,
		Assignment: d.assignment(),
		Message:    brief(err.Error()),
	}
	if mistake := asSyntax(err); mistake != nil {
		problem.Kind, problem.Message, problem.Hint = fleet.KindTemplateSyntax, mistake.message, mistake.hint
		return problem
	}
	f := locate(err, p)
	if problem.Position.Line > 0 {
		problem.Position.Line += f.line - 1
	}
	problem.Message = f.message
	if bounds := (*meter.Error)(nil); errors.As(err, &bounds) {
		problem.Kind, problem.Message = fleet.KindTemplateBounds, bounds.Limit
		problem.Hint = "use shorter loops and smaller values"
		return problem
	}
	if keys := f.absent(err, d); keys != nil {
		problem.Message = fmt.Sprintf(".%s is not set", strings.Join(keys, "."))
		problem.Hint = absentHint(keys)
	} else if errors.Is(err, meter.ErrAbsent) {
		problem.Message, problem.Hint = fmt.Sprintf("%s is not set", f.where()), absentHint([]string{""})
	}
	return problem
}

// failure is the location in a text where an execution failed.
type failure struct {
	line    int
	action  *action
	message string // without the position
	context string // the innermost expression
}

// absent returns the keys that are missing, if that is the reason of the failure.
func (f failure) absent(err error, d *Data) []string {
	if f.action == nil || !errors.Is(err, meter.ErrAbsent) && !strings.Contains(f.message, "invalid value; expected") {
		return nil
	}
	return d.absent(f.action.keys)
}

// where returns the source of the expression that failed.
func (f failure) where() string {
	if f.action != nil {
		return f.action.text
	}
	return f.context
}

// locate extracts the position from the error of an execution:
//
//	template: manifest:3:5: executing "manifest" at <.Labels.x>: ...
func locate(err error, p *program) failure {
	f := failure{line: 1, message: brief(err.Error())}
	var exec template.ExecError
	if at := (*stepError)(nil); p != nil && errors.As(err, &at) {
		f.line, f.action = p.line(at.pos), p.at(int(at.pos))
		f.message = brief(f.where() + ": " + at.Error())
		return f
	}
	if p == nil || !errors.As(err, &exec) {
		return f
	}
	rest, ok := strings.CutPrefix(exec.Error(), "template: "+mainName+":")
	if !ok {
		return f
	}
	line, rest, _ := strings.Cut(rest, ":")
	column, rest, _ := strings.Cut(rest, ":")
	f.line = max(1, atoi(line))
	f.action = p.at(p.offset(f.line, atoi(column)))
	rest = strings.TrimPrefix(rest, fmt.Sprintf(" executing %q at <", exec.Name))
	f.context, rest, _ = strings.Cut(rest, ">: ")
	if message, ok := strings.CutPrefix(rest, "error calling fail: "); ok {
		f.message = brief(message) // the template's own message
	} else {
		f.message = brief(fmt.Sprintf("%s: %s", f.where(), rest))
	}
	return f
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// offset returns the byte offset of a line and column.
func (p *program) offset(line, column int) int {
	start := 0
	for range line - 1 {
		next := strings.IndexByte(p.text[start:], '\n')
		if next < 0 {
			break
		}
		start += next + 1
	}
	return start + column
}
