package replica

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// maxPending limits the notes that wait for the ledger. Notes are hints: those that are lost only delay a round until the next poll.
const maxPending = 10_000

// Post sends a note to the other replicas, within a moment. Equal notes that wait are sent once. It does not block.
func (m *Member) Post(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.living) > 1 && !m.queued[text] && len(m.pending) < maxPending {
		m.queued[text] = true
		m.pending = append(m.pending, text)
	}
}

// exchange posts what waits, and reads the notes of others. Polling a table works behind connection poolers, where LISTEN does not.
func (m *Member) exchange(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m.mu.Lock()
	id, pending := m.id, m.pending
	m.pending, m.queued = nil, map[string]bool{}
	m.mu.Unlock()
	if err := m.post(ctx, id, pending); err != nil && ctx.Err() == nil {
		m.Log.Warn("send notes to other replicas", "notes", len(pending), "error", err)
	}
	notes, last, err := m.Ledger.Notes(ctx, m.last)
	if err != nil {
		if ctx.Err() == nil && !m.deaf {
			m.deaf = true // once: it is tried again many times a second
			m.Log.Warn("cannot read the notes of other replicas; trying again until it works", "error", err)
		}
		return
	}
	if m.deaf {
		m.deaf = false
		m.Log.Info("read the notes of other replicas again")
	}
	missed := time.Since(m.readAt) > ledger.NotesKept/2
	m.last, m.readAt = last, time.Now()
	if missed {
		m.changed()
	}
	for _, n := range notes {
		var texts []string
		if n.From == id || m.Received == nil || json.Unmarshal([]byte(n.Text), &texts) != nil {
			continue
		}
		for _, text := range texts {
			m.Received(text)
		}
	}
}

// post stores all notes as one, because each is a row of a table.
func (m *Member) post(ctx context.Context, id string, pending []string) error {
	if len(pending) == 0 {
		return nil
	}
	text, err := json.Marshal(pending)
	if err != nil {
		return err
	}
	return m.Ledger.Post(ctx, id, string(text))
}
