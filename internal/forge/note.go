package forge

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// Note is an annotation written as a comment at a line, for forges without annotations.
type Note struct {
	Annotation
	// Marker identifies the comment.
	Marker string
}

// ExistingNote is one of our comments at a line that exists on the forge.
type ExistingNote struct {
	ID, Body string
	// Outdated reports that the forge no longer shows it at its line.
	Outdated bool
}

// Notes returns [Annotations.Shown] as comments.
func (a Annotations) Notes() []Note {
	var notes []Note
	for _, shown := range a.Shown() {
		notes = append(notes, Note{shown, a.Name + " " + digest(shown)})
	}
	return notes
}

// Settle removes comments whose annotation is gone, and writes the missing ones. It ignores comments without the annotations' name.
//
// [ErrNotFound] from remove is not an error. A note whose line write refuses with [ErrInvalid] is written at its file,
// and left out if that is refused, too.
func (a Annotations) Settle(
	there []ExistingNote, remove func(id string) error, write func(n Note, body string, atLine bool) error,
) error {
	gone, missing := a.compare(there)
	for _, s := range gone {
		if err := remove(s.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	for _, n := range missing {
		for _, atLine := range []bool{true, false} {
			if atLine && n.Line <= 0 {
				continue
			}
			err := write(n, n.Body(atLine), atLine)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrInvalid) {
				return err
			}
		}
	}
	return nil
}

// compare returns the comments to remove and the notes to write.
func (a Annotations) compare(there []ExistingNote) (gone []ExistingNote, missing []Note) {
	missing = a.Notes()
	for _, s := range there {
		if !a.Wrote(s.Body) {
			continue
		}
		i := slices.IndexFunc(missing, func(n Note) bool { return !s.Outdated && Marked(s.Body, n.Marker) })
		if i < 0 {
			gone = append(gone, s)
			continue
		}
		missing = slices.Delete(missing, i, i+1)
	}
	return gone, missing
}

// Wrote reports whether a text has the marker of an annotation of this name.
func (a Annotations) Wrote(body string) bool {
	prefix := strings.TrimSuffix(markerLine(a.Name), "-->")
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, prefix) && strings.HasSuffix(strings.TrimSpace(line), "-->") {
			return true
		}
	}
	return false
}

// Digest identifies the annotations and their commit; empty without annotations.
func (a Annotations) Digest() string {
	if len(a.All) == 0 {
		return ""
	}
	return digest(a.Commit, a.Shown())
}

func digest(of ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", of))
	return hex.EncodeToString(sum[:8])
}

var levelNames = map[AnnotationLevel]string{Refusal: "Refused", Warning: "Warning", Notice: "Notice"}

// Body returns the comment in Markdown, with all texts escaped. It names the line unless it is shown there.
func (n Note) Body(atLine bool) string {
	text := "**" + levelNames[n.Level] + "**"
	if !atLine && n.Line > 0 {
		text += fmt.Sprintf(" in line %d", n.Line)
	}
	text += " " + markdown.Escape(n.Message)
	if n.Title != "" {
		text += " (" + markdown.Escape(n.Title) + ")"
	}
	if n.Hint != "" {
		text += "\n\n" + markdown.Escape(n.Hint)
	}
	if n.More > 0 {
		text += fmt.Sprintf("\n\n%d more not shown.", n.More)
	}
	return Mark(text, n.Marker, 0)
}
