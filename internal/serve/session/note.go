package session

import (
	"net/http"
	"strings"
	"time"
)

const (
	noteCookie  = "note"
	notePurpose = "note"
	// noteLength is how long a note waits for a page.
	noteLength = time.Minute
	maxNote    = 300
)

// note is a line that the next page shows, once.
type note struct {
	Text string    `json:"text"`
	Made time.Time `json:"made"`
}

// Tell keeps a line for the next page that is shown. It is sealed, so that nobody puts words into the server's mouth.
func (s *Sessions) Tell(w http.ResponseWriter, text string) {
	n := note{strings.ToValidUTF8(text[:min(len(text), maxNote)], ""), s.now()}
	if err := s.setSealed(w, noteCookie, notePurpose, n, noteLength); err != nil {
		s.Log.Error("keep a note", "error", err)
	}
}

// Told returns the line that was kept, which is then gone; empty where there is none. Call it before the answer is begun.
func (s *Sessions) Told(w http.ResponseWriter, r *http.Request) string {
	var n note
	if !s.unsealed(r, noteCookie, notePurpose, &n) {
		return ""
	}
	s.drop(w, noteCookie)
	if age := s.now().Sub(n.Made); age < -noteLength || age > noteLength {
		return ""
	}
	return n.Text
}
