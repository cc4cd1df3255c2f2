package check

import (
	"cmp"
	"fmt"
	"slices"
)

// Level says what a finding means for whoever wants to publish the manifests.
type Level string

// The levels, from the least to the most severe.
const (
	// Off is that a rule is not asked.
	Off Level = "off"
	// Inform tells people.
	Inform Level = "inform"
	// Warn tells people that they should do something.
	Warn Level = "warn"
	// Refuse keeps a pull request from being ready.
	Refuse Level = "refuse"
)

// levels are all of them, by severity.
var levels = []Level{Off, Inform, Warn, Refuse}

// AtLeast reports whether a level is as severe as another one.
func (l Level) AtLeast(o Level) bool { return slices.Index(levels, l) >= slices.Index(levels, o) }

// Finding is something that a rule does not like.
type Finding struct {
	// Rule is the name of the rule: "schema", "privileged", or that of a team's own.
	Rule  string `json:"rule"`
	Level Level  `json:"level"`
	// File and Line are where it is written; Line is 0 where that is not known.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Object is the manifest: "Deployment shop/web"; empty for a file that is none.
	Object string `json:"object,omitempty"`
	// Path is the field: "spec.template.spec.containers[0].image".
	Path string `json:"path,omitempty"`
	// Message says what is wrong, in lower case.
	Message string `json:"message"`
	// Hint says what to do next; may be empty.
	Hint string `json:"hint,omitempty"`
}

// String is the finding on one line: file:line, object, field, message and rule.
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

// Worst returns the most severe level of some findings; [Off] when there are none.
func Worst(findings []Finding) Level {
	worst := Off
	for _, f := range findings {
		if f.Level.AtLeast(worst) {
			worst = f.Level
		}
	}
	return worst
}

// sorted brings findings into the order in which people read them: by file and line, the severest of a line first.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(slices.Index(levels, b.Level), slices.Index(levels, a.Level)),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(findings)
}
