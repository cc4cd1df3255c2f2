package pullrequest

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// annotationsName is under which findings are shown at their places, which is also the context of the status that sums them up.
const annotationsName = "kalypso/checks"

// annotate shows the findings at their places in the change. It is the last step, and where the forge does not let us do it,
// it is left out: the text lists the findings as well.
func (l *Living) annotate(ctx context.Context, p *Proposal, mark *Mark) error {
	annotator, ok := l.Repository.(forge.Annotator)
	a := annotations(p, mark.Commit)
	if !ok || mark.Annotated == a.Digest() {
		return nil
	}
	did := fmt.Sprintf("annotated change %d", l.Open.Number)
	err := annotator.Annotate(ctx, l.Open.Number, a)
	switch {
	case cannot(err):
		did = "left out annotations: " + err.Error()
	case errors.Is(err, forge.ErrConflict):
		return nil // the forge has not noticed the commit yet; the next round asks again
	case err != nil:
		return fmt.Errorf("annotate change %d: %w", l.Open.Number, err)
	}
	if err := l.done("annotated", did); err != nil || l.Open.State == forge.Merged {
		return err // the text of a merged change is not read again
	}
	mark.Annotated = a.Digest()
	return l.remark(ctx, p, mark)
}

// cannot reports whether it is no use to ask again: a right is missing, or there is no such place.
// An expired token is another matter, which concerns everything.
func cannot(err error) bool {
	var e *forge.Error
	expired := errors.As(err, &e) && e.Status == unauthorized
	return !expired && (errors.Is(err, forge.ErrDenied) || errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrInvalid))
}

// unauthorized is the HTTP status of a token that is not known any more.
const unauthorized = 401

// levels are those of annotations.
var levels = map[check.Level]forge.AnnotationLevel{check.Refuse: forge.Refusal, check.Warn: forge.Warning, check.Inform: forge.Notice}

// annotations are the findings in files that a proposal writes.
func annotations(p *Proposal, commit string) forge.Annotations {
	a := forge.Annotations{Name: annotationsName, Commit: commit}
	for _, f := range p.Findings {
		if _, written := p.Put[f.File]; !written || levels[f.Level] == "" {
			continue
		}
		message := f.Message
		for _, where := range []string{f.Path, f.Object} {
			if where != "" {
				message = where + ": " + message
			}
		}
		a.All = append(a.All, forge.Annotation{
			File: f.File, Line: f.Line, Level: levels[f.Level], Title: f.Rule, Message: message, Hint: f.Hint,
		})
	}
	return a
}
