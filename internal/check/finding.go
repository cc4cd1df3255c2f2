package check

import (
	"cmp"
	"fmt"
	"slices"
)

// Level is the severity of a finding.
type Level string

// The levels, in increasing severity.
const (
	Off    Level = "off"    // the rule is not evaluated
	Inform Level = "inform" // information
	Warn   Level = "warn"   // something to improve
	Refuse Level = "refuse" // the manifests must not be published
)

// levels lists the levels by increasing severity.
var levels = []Level{Off, Inform, Warn, Refuse}

// AtLeast reports whether l is at least as severe as o.
func (l Level) AtLeast(o Level) bool { return l.Severity() >= o.Severity() }

// Severity returns a number that is higher for a more severe level, and negative for an unknown one.
func (l Level) Severity() int { return slices.Index(levels, l) }

// Finding is a violation of a rule.
type Finding struct {
	// Rule is the name of the rule: "schema", "privileged", or that of a custom rule.
	Rule  string `json:"rule"`
	Level Level  `json:"level"`
	// Line is 0 if unknown.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Object is the manifest: "Deployment shop/web". Empty if the file has no manifest.
	Object string `json:"object,omitempty"`
	// Path is the field: "spec.template.spec.containers[0].image".
	Path string `json:"path,omitempty"`
	// Message describes the violation, in lower case.
	Message string `json:"message"`
	// Hint tells how to fix it. Optional.
	Hint string `json:"hint,omitempty"`
	// Exception is why the finding is accepted, and until when. Its level is then [Inform]. Empty for others.
	Exception string `json:"exception,omitempty"`
	// ExceptionEnded is the last day of an exception that has ended; empty for others.
	ExceptionEnded string `json:"exceptionEnded,omitempty"`
}

// String returns the finding on one line: file:line, object, field, message and rule.
func (f Finding) String() string {
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	text := ""
	for _, part := range []string{where, f.Object, f.Path} {
		if part != "" {
			text += part + ": "
		}
	}
	return text + f.Message + " (" + f.Rule + ")"
}

// Place returns the object and field of the finding, "Deployment shop/web: spec.replicas", or else the file and line.
func (f Finding) Place() string {
	switch {
	case f.Object != "" && f.Path != "":
		return f.Object + ": " + f.Path
	case f.Object != "":
		return f.Object
	}
	return fmt.Sprintf("%s: line %d", f.File, f.Line)
}

// Worst returns the most severe level of the findings, or [Off] without findings.
func Worst(findings []Finding) Level {
	worst := Off
	for _, f := range findings {
		if f.Level.AtLeast(worst) {
			worst = f.Level
		}
	}
	return worst
}

// sorted sorts findings by file and line, and then by decreasing severity. It removes duplicates.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(b.Level.Severity(), a.Level.Severity()),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(findings)
}
