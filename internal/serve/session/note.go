package session

import (
	"net/http"
	"strings"
	"time"
)

const (
	noteCookie  = "note"
	notePurpose = "note"
	// noteLength is how long a message waits for a page.
	noteLength = time.Minute
	maxNote    = 300
)

// note is a message that the next page shows once.
type note struct {
	Text string    `json:"text"`
	Made time.Time `json:"made"`
}

// Tell stores a message for the next page. It is sealed, so that other sites cannot forge messages.
func (s *Sessions) Tell(w http.ResponseWriter, text string) {
	n := note{strings.ToValidUTF8(text[:min(len(text), maxNote)], ""), s.now()}
	if err := s.setSealed(w, noteCookie, notePurpose, n, noteLength); err != nil {
		s.Log.Error("store a message", "error", err)
	}
}

// Told returns and deletes the stored message; empty if there is none. Call it before the answer is sent.
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
