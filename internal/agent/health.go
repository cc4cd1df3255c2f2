package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Health is the status of a running agent. The agent opens no port, so it writes the status to a file in its state folder.
type Health struct {
	// At is when the agent wrote this.
	At time.Time `json:"at"`
	// Until is when the agent should have written it again.
	Until time.Time `json:"until"`
	// Ready is set when the cluster was read and answers. An unreachable server does not count: a restart would not help.
	Ready bool `json:"ready"`
	// Reconcilers counts known reconcilers, Waiting unsent reports and Dropped reports that were given up.
	Reconcilers int   `json:"reconcilers"`
	Waiting     int   `json:"waiting"`
	Dropped     int64 `json:"dropped"`
	// Unread lists kinds that the agent is not allowed to read.
	Unread []string `json:"unread,omitempty"`
	// Others are the other clusters that the agent reports for. Their health is in folders of their own.
	Others []string `json:"others,omitempty"`
	// Unassigned counts applications that are not reported, by their destination, to which no cluster was assigned.
	Unassigned map[string]int `json:"unassigned,omitempty"`
	// LastSent is when the server accepted the last batch.
	LastSent time.Time `json:"lastSent,omitzero"`
	// Error is the last failure; empty once the server accepts a batch.
	Error string `json:"error,omitempty"`
}

func healthFile(dir string) string { return filepath.Join(dir, "health.json") }

func (r *run) writeHealth() {
	if r.Store.Dir == "" {
		return
	}
	now := time.Now().UTC()
	h := Health{
		At: now, Until: now.Add(maxPause + 2*r.interval), Ready: r.snapshot.Complete && r.snapshot.Alive,
		Reconcilers: len(r.queue.latest), Waiting: r.queue.Waiting(), Dropped: r.queue.dropped, Unread: r.snapshot.Unread,
		Others: slices.Sorted(maps.Keys(r.snapshot.Others)), Unassigned: r.snapshot.Unassigned,
		LastSent: r.lastSent, Error: r.logged,
	}
	data, err := json.Marshal(h)
	if err == nil {
		err = WriteFile(healthFile(r.Store.Dir), append(data, '\n'))
	}
	if err != nil {
		r.Log.Debug("cannot write the health file", "error", err)
	}
}

// ReadHealthOf reads the status of another cluster that the agent reports for.
func ReadHealthOf(dir, cluster string) (Health, error) {
	return ReadHealth(Store{Dir: dir}.of(cluster).Dir)
}

// ReadHealth reads the status from an agent's state folder.
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

// Problem describes what is wrong with the agent at a time; empty means that it is healthy.
func (h Health) Problem(now time.Time) string {
	switch {
	case now.After(h.Until):
		return fmt.Sprintf("the agent was last active at %s: it hangs or does not run", h.At.Format(time.RFC3339))
	case !h.Ready:
		return "the agent cannot read its cluster"
	}
	return ""
}
