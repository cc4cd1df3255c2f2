package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Health is how an agent is doing: a file in its state folder, since it listens to nobody.
type Health struct {
	// At is when the agent wrote this; it does so at least every interval.
	At time.Time `json:"at"`
	// Until is when it should have been written again.
	Until time.Time `json:"until"`
	// Ready says that the cluster was read and answers. A server that is not there does not count: restarting helps nobody.
	Ready bool `json:"ready"`
	// Reconcilers are known, Waiting reports were not sent yet, Dropped were forgotten.
	Reconcilers int   `json:"reconcilers"`
	Waiting     int   `json:"waiting"`
	Dropped     int64 `json:"dropped"`
	// Unread are kinds that the agent may not read.
	Unread []string `json:"unread,omitempty"`
	// LastSent is when the server took the last batch.
	LastSent time.Time `json:"lastSent,omitzero"`
	// Error is why it does not take the next one.
	Error string `json:"error,omitempty"`
}

func healthFile(dir string) string { return filepath.Join(dir, "health.json") }

func (r *run) writeHealth() {
	if r.Store.Dir == "" {
		return
	}
	now := time.Now().UTC()
	h := Health{
		At: now, Until: now.Add(longest + 2*r.interval), Ready: r.snapshot.Complete && r.snapshot.Alive,
		Reconcilers: len(r.queue.latest), Waiting: r.queue.Waiting(), Dropped: r.queue.dropped, Unread: r.snapshot.Unread,
		LastSent: r.lastSent, Error: r.said,
	}
	data, err := json.Marshal(h)
	if err == nil {
		err = replace(healthFile(r.Store.Dir), append(data, '\n'))
	}
	if err != nil {
		r.Log.Debug("write the health", "error", err)
	}
}

// ReadHealth returns what an agent wrote about itself into its state folder.
func ReadHealth(dir string) (Health, error) {
	var h Health
	data, err := os.ReadFile(healthFile(dir))
	if err != nil {
		return h, fmt.Errorf("read the agent's health: %w", err)
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return h, fmt.Errorf("read the agent's health: %w", err)
	}
	return h, nil
}

// Problem says what is wrong with the agent at a time; empty means nothing.
func (h Health) Problem(now time.Time) string {
	switch {
	case now.After(h.Until):
		return fmt.Sprintf("the agent was last seen at work at %s: it hangs, or does not run", h.At.Format(time.RFC3339))
	case !h.Ready:
		return "the agent cannot read its cluster"
	}
	return ""
}
