package wiring

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// disk watches the disk of the data folder, and for errors of full disks elsewhere, such as that of the ledger's database.
type disk struct {
	dir string
	// create opens a new file to write to, and returns a function that removes it.
	create func() (*os.File, func(), error)

	mu sync.Mutex
	// tried is when the disk was last written to, and tryErr the result. noted is the last error from elsewhere.
	tried  time.Time
	tryErr error
	noted  time.Time
}

const (
	// diskInterval is how often the disk is written to at most, diskSample how much.
	diskInterval = 5 * time.Second
	diskSample   = 64 << 10
	// fullFor is how long an error from elsewhere counts.
	fullFor = time.Minute
)

func newDisk(dir string) *disk {
	return &disk{dir: dir, create: func() (*os.File, func(), error) {
		f, err := os.CreateTemp(dir, ".space-*")
		if err != nil {
			return nil, nil, err
		}
		return f, func() { _ = os.Remove(f.Name()) }, nil
	}}
}

// note remembers an error of a full disk, and ignores others.
func (d *disk) note(err error) {
	if !ledger.IsFull(err) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noted = time.Now()
}

// full reports whether a disk is full.
func (d *disk) full() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.tried) >= diskInterval {
		d.tried, d.tryErr = time.Now(), d.try()
	}
	return ledger.IsFull(d.tryErr) || time.Since(d.noted) < fullFor
}

// try writes to the disk. A data folder that does not exist yet is not an error of the disk.
func (d *disk) try() error {
	f, remove, err := d.create()
	if err != nil {
		return err
	}
	defer remove()
	_, err = f.Write(make([]byte, diskSample))
	return errors.Join(err, f.Close())
}

var _ prometheus.Collector = (*disk)(nil)

var (
	diskFull = prometheus.NewDesc("kalypso_disk_full", "1 if the data folder or the ledger cannot be written because a disk is full.", nil, nil)
	diskFree = prometheus.NewDesc("kalypso_disk_free_bytes", "Free space on the disk of the data folder.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (d *disk) Describe(to chan<- *prometheus.Desc) {
	to <- diskFull
	to <- diskFree
}

// Collect implements [prometheus.Collector].
func (d *disk) Collect(to chan<- prometheus.Metric) {
	full := 0.0
	if d.full() {
		full = 1
	}
	to <- prometheus.MustNewConstMetric(diskFull, prometheus.GaugeValue, full)
	if free, ok := freeBytes(d.dir); ok {
		to <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, float64(free))
	}
}
