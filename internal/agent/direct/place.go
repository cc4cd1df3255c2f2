package direct

import (
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/artifact"
)

const (
	// poolSize is how many deliveries are worked on at once, besides those that are slow.
	poolSize = 4
	// turnLength is how long a step may take before its delivery is slow.
	turnLength = 5 * time.Second
	// maxHeld bounds the manifests, in bytes, of all deliveries that are being applied.
	maxHeld = poolSize * artifact.MaxContent
)

// places are how many deliveries are worked on, and the manifests that they hold in memory.
type places struct {
	// running counts all steps, busy those that are not slow.
	running, busy int
	held          int64
	// short is set while a delivery waits for the memory of others, and refused if the dispatch that is running found one.
	short, refused bool
}

// place is what a step of a delivery holds. A step that waits for an API server, a webhook, or an object that is slow, must not delay other deliveries: after its turn, its
// place is given to another one, and the step goes on. So each delivery that is slow holds no more than its own manifests. If these become too many, those that are
// slow give way between two objects, and go on there when it is their turn again.
type place struct {
	size  int64
	slow  bool
	timer *time.Timer
}

// progress is how far a version was applied.
type progress struct {
	version  string
	next     int
	failures []string
}

// errGaveWay means that applying goes on later.
var errGaveWay = errors.New("another delivery has its turn")

// take gives a delivery a place for a step with as many bytes of manifests, if there is one. d.mu is locked.
func (d *Deliverer) take(t *track, size int64) bool {
	if d.places.busy == poolSize {
		return false
	}
	if d.places.held > 0 && d.places.held+size > cmp.Or(d.most, maxHeld) {
		d.places.refused = true
		return false
	}
	d.places.running++
	d.places.busy++
	d.places.held += size
	t.place = place{size: size}
	var timer *time.Timer
	timer = time.AfterFunc(cmp.Or(d.turn, turnLength), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.place.timer == timer {
			t.place.slow = true
			d.places.busy--
			signal(d.moved)
		}
	})
	t.place.timer = timer
	return true
}

// leave gives a place back. d.mu is locked.
func (d *Deliverer) leave(t *track) {
	t.place.timer.Stop()
	d.places.running--
	d.places.held -= t.place.size
	if !t.place.slow {
		d.places.busy--
	}
	t.place = place{}
}

// givesWay reports whether a delivery should go on later, because it had its turn and another one waits for its memory.
func (d *Deliverer) givesWay(t *track) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return t.place.slow && d.places.short
}

// contentSize returns how large an archive is when it is unpacked: the last bytes of a gzip file say it. The largest size is returned if it is not known.
func (s *Store) contentSize(digest string) int64 {
	f, err := os.Open(s.archiveFile(digest))
	if err != nil {
		return artifact.MaxContent
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	var last [4]byte
	if err == nil {
		_, err = f.ReadAt(last[:], info.Size()-int64(len(last)))
	}
	if err != nil {
		return artifact.MaxContent
	}
	return min(int64(binary.LittleEndian.Uint32(last[:])), artifact.MaxContent)
}
