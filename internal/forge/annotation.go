package forge

import (
	"cmp"
	"context"
	"slices"
)

// MaxAnnotations limits the annotations of one name on a pull request.
const MaxAnnotations = 20

// Annotator shows findings at their lines in a pull request.
type Annotator interface {
	// Annotate replaces the annotations of a name on a pull request; an empty list removes them all.
	// It shows at most [MaxAnnotations]; the last one says how many more exist.
	// An annotation at a line outside the diff is shown at its file, and left out if the forge cannot show it at all.
	// Annotations with another name or of another account are kept.
	// The error is [ErrConflict] if the forge does not know the head yet.
	Annotate(ctx context.Context, number int, a Annotations) error
}

// Annotations are the findings of one program in a pull request.
type Annotations struct {
	// Name identifies the program, such as "kalypso/checks".
	Name string // required
	// Commit is the head that was checked.
	Commit string // required
	All    []Annotation
}

// Annotation is a finding at a place in a pull request. Its texts are plain, not Markdown.
type Annotation struct {
	// File is its path in the repository.
	File string // required
	// Line counts from 1, in the version of the head; 0 means the whole file.
	Line  int
	Level AnnotationLevel // required
	// Title names it in a few words, such as the name of a rule.
	Title   string
	Message string
	// Hint says what to do; optional.
	Hint string
	// More is how many further annotations are not shown. [Annotations.Shown] sets it on the last one.
	More int
}

// AnnotationLevel is the severity of an annotation.
type AnnotationLevel string

// The levels, the most severe first.
const (
	// Refusal blocks the merge.
	Refusal AnnotationLevel = "refusal"
	Warning AnnotationLevel = "warning"
	Notice  AnnotationLevel = "notice"
)

var annotationLevels = []AnnotationLevel{Refusal, Warning, Notice}

// Known reports whether the level is one of the constants.
func (l AnnotationLevel) Known() bool { return slices.Contains(annotationLevels, l) }

// Limits of the texts of an annotation.
const (
	longestTitle   = 100
	longestMessage = 1000
)

// Shown returns up to [MaxAnnotations], the most severe first, then by file and line, each text on one line.
func (a Annotations) Shown() []Annotation {
	all := slices.Clone(a.All)
	for i := range all {
		all[i].Title = OneLine(all[i].Title, longestTitle)
		all[i].Message = OneLine(all[i].Message, longestMessage)
		all[i].Hint = OneLine(all[i].Hint, longestMessage)
	}
	slices.SortFunc(all, func(a, b Annotation) int {
		return cmp.Or(
			cmp.Compare(slices.Index(annotationLevels, a.Level), slices.Index(annotationLevels, b.Level)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Title, b.Title), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint),
		)
	})
	all = slices.Compact(all)
	if more := len(all) - MaxAnnotations; more > 0 {
		all = all[:MaxAnnotations]
		all[MaxAnnotations-1].More = more
	}
	return all
}
