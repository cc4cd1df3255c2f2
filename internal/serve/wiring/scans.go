package wiring

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/check/scan/folder"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
)

// newScanner returns the scanner of a server. programs are those that the configuration allows. Results are stored in the data folder.
// Close it.
func newScanner(data string, programs []string, images scanner.Images, signatures scanner.Signatures, changed func()) (*scanner.Scanner, error) {
	records, err := folder.New(filepath.Join(data, "scans"))
	if err != nil {
		return nil, err
	}
	return &scanner.Scanner{Store: records, Programs: &verify.Runner{Programs: programs}, Images: images, Signatures: signatures, Changed: changed}, nil
}

// scanWaits are the applications that wait for running scans, or for digests of images. When one ends, they are delivered again.
type scanWaits struct {
	// wake schedules a round of an application.
	wake func(controlPlane, application string)

	mu      sync.Mutex
	waiting map[deliveredTo]bool
	// ended is how many scans have ended.
	ended int
}

// begin is called before a round, which may not see the scans that end after it.
func (w *scanWaits) begin() (ended int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// note stores whether scans of an application run after a round that began when so many had ended.
func (w *scanWaits) note(at deliveredTo, found *deliver.Delivered, ended int) {
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
		w.waiting = map[deliveredTo]bool{}
	}
	w.waiting[at] = true
	if w.ended != ended {
		w.wake(at.controlPlane, at.application)
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

// changed schedules all waiting applications.
func (w *scanWaits) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended++
	for at := range w.waiting { // in any order
		w.wake(at.controlPlane, at.application)
	}
}
