package forge

import (
	"errors"
	"fmt"
	"sync"
)

// Written remembers the comments with markers that were created, because a forge can list them late. The zero value is empty.
type Written struct {
	mu       sync.Mutex
	comments map[string]Comment
}

// maxWritten limits how many comments are remembered. Lists are late for seconds, so all may be forgotten then.
const maxWritten = 1000

// add remembers a comment on a pull request.
func (w *Written) add(repository ID, number int, marker string, c Comment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.comments == nil || len(w.comments) >= maxWritten {
		w.comments = map[string]Comment{}
	}
	w.comments[writtenKey(repository, number, marker)] = c
}

// take returns a comment that was added, and forgets it.
func (w *Written) take(repository ID, number int, marker string) (Comment, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := writtenKey(repository, number, marker)
	c, ok := w.comments[key]
	delete(w.comments, key)
	return c, ok
}

func writtenKey(repository ID, number int, marker string) string {
	return fmt.Sprintf("%s#%d %s", repository, number, marker)
}

// Upsert creates a comment that the forge does not list, unless it was created already and is listed late: then Upsert edits it.
func (w *Written) Upsert(repository ID, number int, marker, body string, write func(id, body string) (Comment, error)) (Comment, error) {
	if c, ok := w.take(repository, number, marker); ok {
		written, err := write(c.ID, body)
		if err == nil {
			w.add(repository, number, marker, written)
		}
		if !errors.Is(err, ErrNotFound) { // a user deleted it
			return written, err
		}
	}
	created, err := write("", body)
	if err == nil {
		w.add(repository, number, marker, created)
	}
	return created, err
}
