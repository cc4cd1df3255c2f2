package fleet

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity is the effect of a problem.
type Severity string

const (
	// SeverityError means that something cannot be used; what depends on it is held.
	SeverityError Severity = "error"
	// SeverityWarning means that something is used, but is probably a mistake.
	SeverityWarning Severity = "warning"
	// SeverityNotice is information, such as the use of a built-in template.
	SeverityNotice Severity = "notice"
)

// Position is a place in a file of a repository. The zero value means unknown.
type Position struct {
	// Source is the name of the repository or branch,
	// such as "dev", "main" or the URL of a workload's repository.
	Source string `json:"source,omitempty"`
	// File is the path from the root of the repository, with forward slashes.
	File string `json:"file,omitempty"`
	// Line counts from 1. 0 means the whole file.
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

// Problem is something that a user has to fix: what is wrong, where, and what to do.
type Problem struct {
	Severity Severity `json:"severity"`
	// Kind is a stable identifier of the kind of problem, such as "yaml-syntax".
	Kind ProblemKind `json:"kind"`
	// Object is the object with the problem. Zero if the problem concerns a whole file.
	Object Ref `json:"object,omitzero"`
	// Position of the cause.
	Position Position `json:"position,omitzero"`
	// Assignment is the affected assignment, as "<clusterType>/<target>". Empty if there is not exactly one.
	Assignment string `json:"assignment,omitempty"`
	// Message tells what is wrong, in lower case, without the position.
	Message string `json:"message"`
	// Hint tells what to do next. Empty if the message is enough.
	Hint string `json:"hint,omitempty"`
	// Lacks are the keys of required values that are missing, separated by ", "; empty for other problems. SetBy says who may set them, as
	// in "dba or ada"; empty if everyone may who may change the file.
	Lacks string `json:"lacks,omitempty"`
	SetBy string `json:"setBy,omitempty"`
}

// SortProblems sorts in place by severity, then source, file, line, kind, object, assignment and message,
// and removes duplicates.
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

// ProblemKind is a stable identifier of a kind of problem: the rule in SARIF output.
// docs/reference/problems.md documents all of them.
type ProblemKind string

// Kinds of problems, in the order of the steps: reading, assembling, scheduling, configuring, rendering, writing.
const (
	KindFileTooLarge       ProblemKind = "file-too-large"
	KindRepositoryTooLarge ProblemKind = "repository-too-large"
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
	KindSchedulerUnknown   ProblemKind = "scheduler-unknown"
	KindSchedulerSilent    ProblemKind = "scheduler-silent"
	KindSchedulerAnswer    ProblemKind = "scheduler-answer"
	KindSchedulerWarning   ProblemKind = "scheduler-warning"
	KindUnplaced           ProblemKind = "unplaced"
	KindUnlimited          ProblemKind = "unlimited-resource"
	KindDependency         ProblemKind = "dependency"
	KindNameCollision      ProblemKind = "name-collision"
	KindConfigConflict     ProblemKind = "config-conflict"
	KindConfigPrecedence   ProblemKind = "config-precedence"
	KindConfigQuoting      ProblemKind = "config-quoting"
	KindOriginalDiffers    ProblemKind = "original-differs"
	KindConfigSchema       ProblemKind = "config-schema"
	KindConfigValue        ProblemKind = "config-value"
	KindConfigMissing      ProblemKind = "config-missing"
	KindEditRight          ProblemKind = "edit-right"
	KindConfigExpression   ProblemKind = "config-expression"
	KindTemplateSyntax     ProblemKind = "template-syntax"
	KindTemplateBuiltin    ProblemKind = "template-builtin"
	KindTemplateMissing    ProblemKind = "template-missing"
	KindTemplateKeys       ProblemKind = "template-keys"
	KindTemplateExecution  ProblemKind = "template-execution"
	KindTemplateBounds     ProblemKind = "template-bounds"
	KindTemplateOutput     ProblemKind = "template-output"
	KindOldAPIVersion      ProblemKind = "old-api-version"
	KindHeld               ProblemKind = "held"
	KindHandedOver         ProblemKind = "handed-over"
	KindSecretNotGranted   ProblemKind = "secret-not-granted"
	KindCredential         ProblemKind = "credential"
	KindFileConflict       ProblemKind = "file-conflict"
	KindInventoryCorrupted ProblemKind = "inventory-corrupted"
	KindLeftBehind         ProblemKind = "left-behind"
	KindOtherOwner         ProblemKind = "other-owner"
	KindNotPublished       ProblemKind = "not-published"
	KindNotRendered        ProblemKind = "not-rendered"
	KindClockSetBack       ProblemKind = "clock-set-back"
)
