package plane

import (
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// Waits are the applications that wait for running scans, or for digests of images. When one ends, they are delivered
// again.
type Waits struct {
	// Wake schedules a round of an application. // required
	Wake func(controlPlane, application string)

	mu      sync.Mutex
	waiting map[registration]bool
	// ended is how many scans have ended.
	ended int
}

// begin is called before a round, which may not see the scans that end after it.
func (w *Waits) begin() (ended int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// note stores whether scans of an application run after a round that began when so many had ended.
func (w *Waits) note(at registration, found *deliver.Delivered, ended int) {
	running := false
	for _, o := range found.Environments {
		running = running || o != nil && o.Draft != nil && (slices.ContainsFunc(o.Draft.Scans, scan.Result.Runs) || looksUp(o.Draft.Plan))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !running {
		delete(w.waiting, at)
		return
	}
	if w.waiting == nil {
		w.waiting = map[registration]bool{}
	}
	w.waiting[at] = true
	if w.ended != ended {
		w.Wake(at.controlPlane, at.application)
	}
}

// looksUp reports whether digests of a plan are still looked up.
func looksUp(p *deliver.Plan) bool {
	if p != nil {
		for _, d := range p.Digests {
			if d.Pending {
				return true
			}
		}
	}
	return false
}

// Changed schedules all waiting applications.
func (w *Waits) Changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended++
	for at := range w.waiting { // in any order
		w.Wake(at.controlPlane, at.application)
	}
}
