package direct

import (
	"context"
	"fmt"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet/window"
)

// closed explains why the cluster may not be changed now, by the windows and the hold of a delivery of the platform, and returns when that ends; zero if it is not
// known. It returns "" if the cluster may be changed. Windows that cannot be read never open.
func closed(platform *hub.Delivery, now time.Time) (why string, until time.Time) {
	if h := platform.Hold; h != nil && (h.Until == nil || now.Before(h.Until.Time)) {
		end := ""
		if h.Until != nil {
			until, end = h.Until.Time, " until "+clock(h.Until.Time)
		}
		return fmt.Sprintf("the cluster is on hold%s: %s", end, h.Reason), until
	}
	var err error
	windows := make([]window.Window, len(platform.Windows))
	for i, w := range platform.Windows {
		if windows[i], err = window.Parse(w); err != nil {
			return "the windows of the cluster cannot be read: " + oneLine(err), time.Time{}
		}
	}
	open, until := window.Open(windows, now)
	switch {
	case open || len(windows) == 0:
		return "", time.Time{}
	case until.IsZero():
		return "waits for a window of the cluster, and none opens any more", until
	default:
		return "waits for the window of the cluster that opens at " + clock(until), until
	}
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// closure is why, and how long, nothing is changed.
type closure struct {
	why   string
	until time.Time
}

// closedFor returns why a delivery is not changed now; no reason if it may be. What was begun is finished, so that nothing stays half applied.
func (v *view) closedFor(one *hub.Delivery) closure {
	if s := v.states[one.ID()]; s.runs(one) || s != nil && s.Begun && s.Delivery.Content() == one.Content() {
		return closure{}
	}
	if one.Platform() {
		return v.closures[one.Name]
	}
	return v.closures[one.Of]
}

// await postpones a delivery until the cluster may be changed. The version is on disk, and verified: if it cannot be applied, that is known before the window.
func (w *work) await(ctx context.Context, one *hub.Delivery, c closure) error {
	w.track.next = w.Now().Add(lookSeldom)
	if err := w.look(ctx); err != nil {
		return err
	}
	if !c.until.IsZero() && c.until.Before(w.track.next) {
		w.track.next = c.until
	}
	if one == nil || w.track.staged.digest == one.Digest || !w.Store.HasArchive(one.Digest) {
		return nil
	}
	checked := staged{digest: one.Digest}
	files, err := w.Store.Archive(one.Digest)
	if err == nil {
		_, err = objectsOf(files)
	}
	if err != nil {
		checked.problem = oneLine(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.track.staged = checked
	return nil
}

// staged is what is known of a version that waits for its window.
type staged struct {
	digest  string
	problem string
}

// stagedReport returns what is reported of a version that waits for its window.
func (v *view) stagedReport(one *hub.Delivery, c closure) (state hub.State, message string) {
	if s := v.staged[one.ID()]; s.digest == one.Digest && s.problem != "" {
		return hub.StateFailed, "cannot be applied when the cluster may be changed: " + s.problem
	}
	return hub.StateProgressing, "is staged, downloaded and verified; " + c.why
}

// closuresOf returns when the cluster may be changed, by the names of the platform's deliveries.
func closuresOf(deliveries []hub.Delivery, now time.Time) map[string]closure {
	all := map[string]closure{}
	for i := range deliveries {
		if one := &deliveries[i]; one.Platform() {
			why, until := closed(one, now)
			all[one.Name] = closure{why, until}
		}
	}
	return all
}
