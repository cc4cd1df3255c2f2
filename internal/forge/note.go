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

// Note is an annotation as a comment at a line, for forges that have no other way to show one.
type Note struct {
	Annotation
	// Marker is how the comment is found again.
	Marker string
}

// Standing is a comment at a line that is there and is ours.
type Standing struct {
	ID, Body string
	// Outdated says that the forge does not show it at its place any more.
	Outdated bool
}

// Notes are the annotations to be shown, as comments.
func (a Annotations) Notes() []Note {
	var notes []Note
	for _, shown := range a.Shown() {
		notes = append(notes, Note{shown, a.Name + " " + digest(shown)})
	}
	return notes
}

// Settle makes the comments of ours that are there be the annotations: it removes those that are gone, and writes the notes that
// are missing. Comments that are no annotations of this name do not count.
//
// That somebody else removed one meanwhile is no error of remove. A note whose line write refuses as [ErrInvalid] is written at its
// file, and left out where that is refused as well.
func (a Annotations) Settle(
	there []Standing, remove func(id string) error, write func(n Note, body string, atLine bool) error,
) error {
	gone, missing := a.turn(there)
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

// turn compares the annotations with the comments that are there.
func (a Annotations) turn(there []Standing) (gone []Standing, missing []Note) {
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

// Digest identifies the annotations and the commit that they are about; empty when there are none.
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

// Body is the comment in Markdown, in which the texts mean nothing. One that does not stand at its line says which that is.
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
		text += fmt.Sprintf("\n\n%d more are not shown at their places.", n.More)
	}
	return Mark(text, n.Marker, 0)
}
