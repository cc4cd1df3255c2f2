package forge

import (
	"cmp"
	"context"
	"slices"
)

// MaxAnnotations is how many annotations of one name are shown on a pull request.
const MaxAnnotations = 20

// Annotator shows findings at their places in a pull request.
type Annotator interface {
	// Annotate makes the annotations of a name on a pull request be exactly these; none takes all of them away.
	// At most [MaxAnnotations] are shown, and the last of them says how many there are besides.
	// One at a line that the forge shows no difference of is shown at its file, and one that it has no place for is left out.
	// Those of other names, and of other accounts, stay as they are.
	// [ErrConflict] means that the forge has not noticed the head of the pull request yet.
	Annotate(ctx context.Context, change int, a Annotations) error
}

// Annotations are all that one program has to say about places in a pull request.
type Annotations struct {
	// Name tells them from those of other programs: "kalypso/checks".
	Name string // required
	// Commit is the head of the pull request that they are about.
	Commit string // required
	All    []Annotation
}

// Annotation is something to say about a place in a pull request. All its texts are plain.
type Annotation struct {
	// File is its path in the repository.
	File string // required
	// Line counts from 1 in the file as the head has it; 0 is the file as a whole.
	Line  int
	Level AnnotationLevel // required
	// Title is what it is about in a few words: the name of a rule.
	Title   string
	Message string
	// Hint says what to do; may be empty.
	Hint string
	// More is how many annotations are not shown; [Annotations.Shown] sets it on the last one.
	More int
}

// AnnotationLevel says how bad it is.
type AnnotationLevel string

// The levels, from the severest on.
const (
	// Refusal keeps the pull request from being merged.
	Refusal AnnotationLevel = "refusal"
	Warning AnnotationLevel = "warning"
	Notice  AnnotationLevel = "notice"
)

var annotationLevels = []AnnotationLevel{Refusal, Warning, Notice}

// Known reports whether a level is one of those above.
func (l AnnotationLevel) Known() bool { return slices.Contains(annotationLevels, l) }

// longest are the texts of an annotation: more than that nobody reads at a line.
const (
	longestTitle   = 100
	longestMessage = 1000
)

// Shown are those that are to be shown: the severest first, then by file and line, with texts of one line.
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
