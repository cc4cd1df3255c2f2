package fleet

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says what a problem means for the run.
type Severity string

const (
	// SeverityError is something that could not be used; what depends on it is held.
	SeverityError Severity = "error"
	// SeverityWarning is something that was used and is probably not what was meant.
	SeverityWarning Severity = "warning"
	// SeverityNotice is something worth knowing, such as a built-in template standing in for a missing one.
	SeverityNotice Severity = "notice"
)

// Position is a place in a file of a repository. The zero value means that no place is known.
type Position struct {
	// Source is how people call the repository and branch the file was read from,
	// such as "dev", "main" or the URL of a workload's repository.
	Source string `json:"source,omitempty"`
	// File is the path from the root of the repository, with forward slashes.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 means the file as a whole.
	Line int `json:"line,omitempty"`
}

// String formats the position as file:line, without the source.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Ref names an object: "ConfigMap/small-config".
type Ref struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// String formats the reference as Kind/name.
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// Problem is something a person should look at: what is wrong, where, and what to do about it.
type Problem struct {
	Severity Severity `json:"severity"`
	// Kind is a stable identifier of the sort of problem, such as "yaml-syntax"; see the Kind constants.
	Kind ProblemKind `json:"kind"`
	// Object is the object the problem lies in; zero where it lies in a file as a whole.
	Object Ref `json:"object,omitzero"`
	// Position is where the cause is written.
	Position Position `json:"position,omitzero"`
	// Assignment names the assignment that suffers, as "<clusterType>/<target>"; empty where the problem is not of one assignment.
	Assignment string `json:"assignment,omitempty"`
	// Message says what is wrong, in lower case, without the position.
	Message string `json:"message"`
	// Hint says what to do next; may be empty where the message says it.
	Hint string `json:"hint,omitempty"`
}

// SortProblems sorts by severity, then source, file, line, kind, object, assignment and message, and drops exact repetitions.
func SortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, compareProblems)
	return slices.Compact(problems)
}

func compareProblems(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(a.Severity.rank(), b.Severity.rank()),
		cmp.Compare(a.Position.Source, b.Position.Source),
		cmp.Compare(a.Position.File, b.Position.File),
		cmp.Compare(a.Position.Line, b.Position.Line),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Object.Kind, b.Object.Kind),
		cmp.Compare(a.Object.Name, b.Object.Name),
		cmp.Compare(a.Assignment, b.Assignment),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Hint, b.Hint),
	)
}

func (s Severity) rank() int {
	switch s {
	case SeverityError:
		return 0
	case SeverityWarning:
		return 1
	default:
		return 2
	}
}

// ProblemKind is a stable identifier of a sort of problem. It is shown as the rule in SARIF output
// and documented in docs/reference/problems.md.
type ProblemKind string

// The sorts of problems, in the order of the work: reading, assembling, scheduling, configuring, rendering, writing.
const (
	KindFileTooLarge       ProblemKind = "file-too-large"
	KindNotUTF8            ProblemKind = "not-utf8"
	KindSymlink            ProblemKind = "symlink"
	KindYAMLSyntax         ProblemKind = "yaml-syntax"
	KindYAMLBounds         ProblemKind = "yaml-bounds"
	KindUnknownKind        ProblemKind = "unknown-kind"
	KindUnknownVersion     ProblemKind = "unknown-version"
	KindUnknownField       ProblemKind = "unknown-field"
	KindWrongType          ProblemKind = "wrong-type"
	KindMissingField       ProblemKind = "missing-field"
	KindInvalidName        ProblemKind = "invalid-name"
	KindInvalidValue       ProblemKind = "invalid-value"
	KindDuplicate          ProblemKind = "duplicate"
	KindWrongBranch        ProblemKind = "wrong-branch"
	KindMissingObject      ProblemKind = "missing-object"
	KindExtendsCycle       ProblemKind = "extends-cycle"
	KindUnreachable        ProblemKind = "unreachable"
	KindReservedLabel      ProblemKind = "reserved-label"
	KindUnusedPolicy       ProblemKind = "unused-policy"
	KindNameCollision      ProblemKind = "name-collision"
	KindConfigConflict     ProblemKind = "config-conflict"
	KindConfigPrecedence   ProblemKind = "config-precedence"
	KindConfigSchema       ProblemKind = "config-schema"
	KindConfigValue        ProblemKind = "config-value"
	KindConfigMissing      ProblemKind = "config-missing"
	KindTemplateSyntax     ProblemKind = "template-syntax"
	KindTemplateBuiltin    ProblemKind = "template-builtin"
	KindTemplateMissing    ProblemKind = "template-missing"
	KindTemplateExecution  ProblemKind = "template-execution"
	KindTemplateBounds     ProblemKind = "template-bounds"
	KindTemplateOutput     ProblemKind = "template-output"
	KindOldAPIVersion      ProblemKind = "old-api-version"
	KindHeld               ProblemKind = "held"
	KindFileConflict       ProblemKind = "file-conflict"
	KindInventoryCorrupted ProblemKind = "inventory-corrupted"
	KindLeftBehind         ProblemKind = "left-behind"
)
