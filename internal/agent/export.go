package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Export reads the cluster once and passes its reports to write, in batches, for a cluster without a connection:
// the current state of every reconciler and, with a store, the states between two exports.
// If write fails, the next export has the same reports again.
func (a *Agent) Export(ctx context.Context, write func([]hub.ReportBatch) error) error {
	if a.Name == "" {
		return errors.New("a file of reports needs the name of the cluster")
	}
	queue, err := a.Store.load(a.Name)
	if err != nil {
		a.Log.Error("cannot use the stored queue", "error", err)
	}
	snapshot, err := a.read(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	queue.Observe(snapshot, now)
	var batches []hub.ReportBatch
	for reports := range slices.Chunk(queue.Next(math.MaxInt), hub.MaxReports) {
		batch := hub.NewReportBatch(a.Name, instant(now), reports)
		batch.Agent, batch.Dropped = a.Version, queue.dropped
		batches = append(batches, batch)
	}
	if len(batches) == 0 {
		batches = []hub.ReportBatch{hub.NewReportBatch(a.Name, instant(now), nil)}
	}
	batches[len(batches)-1].Present = queue.Present(snapshot)
	if err := write(batches); err != nil {
		return err
	}
	for _, b := range batches {
		queue.sent(b.Reports)
	}
	return a.Store.save(queue, a.Name)
}

// read waits for a complete snapshot of the cluster.
func (a *Agent) read(ctx context.Context) (Snapshot, error) {
	var running sync.WaitGroup
	defer running.Wait()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { a.Cluster.Run(watching) })
	for {
		select {
		case <-ctx.Done():
			return Snapshot{}, fmt.Errorf("read the cluster: %w before everything was read", context.Cause(ctx))
		case <-a.Cluster.Changed():
			if s := a.Cluster.Snapshot(); s.Complete && s.Alive {
				return s, nil
			}
		}
	}
}

// SignFile returns batches as a signed file, one line for each; see [hub.SignReports].
func SignFile(batches []hub.ReportBatch, key ed25519.PrivateKey) ([]byte, error) {
	var file bytes.Buffer
	for _, b := range batches {
		line, err := hub.SignReports(b, key)
		if err != nil {
			return nil, err
		}
		file.Write(line)
	}
	return file.Bytes(), nil
}
