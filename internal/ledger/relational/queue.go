package relational

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// request holds the reports of one caller; done gets the result.
type request struct {
	reports    []ledger.Report
	heartbeats []ledger.Heartbeat
	restored   bool // they are those of another ledger
	done       chan error
}

// sharedReports is the number of reports from which on a transaction takes no further request.
const sharedReports = 4096

// errClosed is the error of requests after Close.
var errClosed = errors.New("the ledger is closed")

// Report implements [ledger.Intake].
func (s *Store) Report(ctx context.Context, reports ...ledger.Report) error {
	if len(reports) == 0 {
		return nil
	}
	if err := checkReports(reports); err != nil {
		return err
	}
	if err := s.submit(ctx, &request{reports: reports}); err != nil {
		return fmt.Errorf("store %d reports: %w", len(reports), err)
	}
	return nil
}

// checkReports returns an error if one of the reports cannot be stored.
func checkReports(reports []ledger.Report) error {
	for _, r := range reports {
		id := r.Reconciler
		if err := r.Check(); err != nil {
			return err
		}
		if err := checkText("report", id.Cluster, id.Kind, id.Namespace, id.Name,
			r.Source.Repository, r.Source.Ref, r.Source.Path, r.Revision, r.Message, r.Applied); err != nil {
			return err
		}
	}
	return nil
}

// Heard implements [ledger.Intake].
func (s *Store) Heard(ctx context.Context, cluster string, at time.Time) error {
	if err := require("heartbeat", cluster); err != nil {
		return err
	}
	if err := s.submit(ctx, &request{heartbeats: []ledger.Heartbeat{{Cluster: cluster, At: at}}}); err != nil {
		return fmt.Errorf("store heartbeat of %q: %w", cluster, err)
	}
	return nil
}

// submit passes a request to a writer and waits. If the context ends first, the request may still be stored.
func (s *Store) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.done = make(chan error, 1)
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		return errClosed
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeQueue stores requests until its context ends. It answers every request that it received.
func (s *Store) writeQueue(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-s.requests:
			s.write(ctx, s.waiting(first))
		}
	}
}

// waiting returns a request and all others that wait.
func (s *Store) waiting(first *request) []*request {
	all, reports := []*request{first}, len(first.reports)
	for reports < sharedReports {
		select {
		case next := <-s.requests:
			all = append(all, next)
			reports += len(next.reports)
		default:
			return all
		}
	}
	return all
}

// write stores requests together, or one by one if that fails.
func (s *Store) write(ctx context.Context, requests []*request) {
	err := s.take(ctx, requests)
	for _, r := range requests {
		if err != nil && len(requests) > 1 {
			r.done <- s.take(ctx, []*request{r})
			continue
		}
		r.done <- err
	}
}
