// Package known remembers the credentials that the program has read or sent, so that its log hides them, whoever writes a line.
//
// A credential is added where it is read from a file, and where it is sent. It stays until many others have replaced it.
package known

import (
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	// most is how many credentials are remembered. Tokens that expire in an hour fill it in weeks.
	most = 1000
	// least is the length of a credential, in bytes. Shorter ones would garble the log.
	least = 8
	// leastLine is the length of a line of a key. A shorter one does not tell the key.
	leastLine = 24
)

// set is a set of credentials, and what hides them.
type set struct {
	mu    sync.Mutex
	texts []string // the oldest first
	hide  func(string) string
}

var all set

// Add remembers credentials. A key of several lines is also remembered by line, as messages quote it.
func Add(secrets ...secret.Value) { all.add(secrets) }

// Hide returns a text without the credentials that were added, and without those in URLs.
func Hide(text string) string { return all.hider()(text) }

func (s *set) add(secrets []secret.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range secrets {
		text := strings.TrimSpace(v.Reveal())
		s.keep(text, least)
		if !strings.Contains(text, "\n") {
			continue
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
				s.keep(line, leastLine)
			}
		}
	}
}

// keep adds a text of a length. The caller holds the lock.
func (s *set) keep(text string, length int) {
	if len(text) < length || slices.Contains(s.texts, text) {
		return
	}
	if len(s.texts) == most {
		s.texts = slices.Delete(s.texts, 0, 1)
	}
	s.texts = append(s.texts, text)
	s.hide = nil
}

func (s *set) hider() func(string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hide == nil {
		values := make([]secret.Value, len(s.texts))
		for i, text := range s.texts {
			values[i] = secret.New(text)
		}
		s.hide = secret.Hider(values...)
	}
	return s.hide
}
