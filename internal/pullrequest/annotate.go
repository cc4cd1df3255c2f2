package pullrequest

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// annotate shows the findings as annotations of files. It is the last step, and skipped without the right to do it:
// the text lists the findings as well.
func (p *PullRequest) annotate(ctx context.Context, proposal *Proposal, mark *Mark) error {
	annotator, ok := p.Repository.(forge.Annotator)
	a := annotations(proposal, mark.Commit)
	if !ok || mark.Annotated == a.Digest() {
		return nil
	}
	err := annotator.Annotate(ctx, p.Open.Number, a)
	switch {
	case permanent(err):
		p.did("left out annotations: %v", err)
	case errors.Is(err, forge.ErrConflict):
		return nil // the forge does not know the commit yet; the next round tries again
	case err != nil:
		return fmt.Errorf("annotate pull request %d: %w", p.Open.Number, err)
	default:
		p.did("annotated pull request %d", p.Open.Number)
	}
	if p.Open.State == forge.Merged {
		return nil // the mark is not read again
	}
	mark.Annotated = a.Digest()
	return p.writeMark(ctx, proposal, mark)
}

// permanent reports whether an error stays: a right is missing, or the forge has no annotations.
// An expired token can be renewed, and fails everything else as well.
func permanent(err error) bool {
	return !unauthorized(err) && (errors.Is(err, forge.ErrDenied) || errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrInvalid))
}

// unauthorized reports whether the token is unknown or expired.
func unauthorized(err error) bool {
	const status = 401
	var e *forge.Error
	return errors.As(err, &e) && e.Status == status
}

var annotationLevels = map[check.Level]forge.AnnotationLevel{check.Refuse: forge.Refusal, check.Warn: forge.Warning, check.Inform: forge.Notice}

// annotations returns the findings in files that a proposal writes.
func annotations(proposal *Proposal, commit string) forge.Annotations {
	a := forge.Annotations{Name: StatusChecks, Commit: commit}
	for _, f := range proposal.Findings {
		level := annotationLevels[f.Level]
		if _, written := proposal.Put[f.File]; !written || level == "" {
			continue
		}
		message := f.Message
		for _, where := range []string{f.Path, f.Object} {
			if where != "" {
				message = where + ": " + message
			}
		}
		a.All = append(a.All, forge.Annotation{File: f.File, Line: f.Line, Level: level, Title: f.Rule, Message: message, Hint: f.Hint})
	}
	return a
}
