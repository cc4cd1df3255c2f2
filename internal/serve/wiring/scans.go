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

// newScanner runs the scans of control planes on a server, whose operator lists the programs. What they find is kept in its data
// folder. Close it.
func newScanner(data string, programs []string, images scanner.Images, changed func()) (*scanner.Scanner, error) {
	records, err := folder.New(filepath.Join(data, "scans"))
	if err != nil {
		return nil, err
	}
	return &scanner.Scanner{Store: records, Programs: &verify.Runner{Programs: programs}, Images: images, Changed: changed}, nil
}

// scanWaits are the applications with changes whose scans run: those that are to be looked at when one has ended.
type scanWaits struct {
	// wake has an application looked at again.
	wake func(controlPlane, application string)

	mu      sync.Mutex
	waiting map[deliveredTo]bool
	// ended is how many scans have ended.
	ended int
}

// begin is called before a round. What ended after that, the round may not have seen.
func (w *scanWaits) begin() (ended int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// note notes whether scans of an application run, by what a round found that began after so many had ended.
func (w *scanWaits) note(at deliveredTo, found *deliver.Delivered, ended int) {
	running := false
	for _, o := range found.Environments {
		running = running || o != nil && o.Draft != nil && slices.ContainsFunc(o.Draft.Scans, scan.Result.Runs)
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

// changed has everything looked at that waits.
func (w *scanWaits) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended++
	for at := range w.waiting { // the queue brings them into an order of its own
		w.wake(at.controlPlane, at.application)
	}
}
