package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Export reads the cluster once and gives everything that there is to report to write, in batches, for a cluster
// without a connection: the present state of every reconciler, and with a store, what it was between the exports.
// When write fails, the next export has it all again.
func (a *Agent) Export(ctx context.Context, write func([]hub.ReportBatch) error) error {
	if a.Name == "" {
		return errors.New("a file of reports needs the name of the cluster")
	}
	queue, err := a.Store.Load(a.Name)
	if err != nil {
		a.Log.Error("the queue cannot be used", "error", err)
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
		queue.Sent(b.Reports)
	}
	return a.Store.Save(queue, a.Name)
}

// read waits until the cluster has been read as a whole.
func (a *Agent) read(ctx context.Context) (Snapshot, error) {
	var running sync.WaitGroup
	defer running.Wait()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { a.Cluster.Run(watching) })
	for {
		select {
		case <-ctx.Done():
			return Snapshot{}, fmt.Errorf("read the cluster: %w before it was read as a whole", context.Cause(ctx))
		case <-a.Cluster.Changed():
			if s := a.Cluster.Snapshot(); s.Complete && s.Alive {
				return s, nil
			}
		}
	}
}
