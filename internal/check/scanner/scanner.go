package scanner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Store stores scan records by key.
type Store interface {
	// Record returns a record, or the zero value if there is none.
	Record(ctx context.Context, key string) (scan.Record, error)
	// Keep stores a record, and replaces the previous one.
	Keep(ctx context.Context, key string, r scan.Record) error
	// Claim waits until no other goroutine or process has claimed a key, and claims it. Release ends the claim.
	Claim(ctx context.Context, key string) (release func(), err error)
}

// Programs runs the programs of scans.
type Programs interface {
	// Scan runs a program. The error means that the run did not complete; [scan.ErrNotAllowed] that it is not allowed.
	Scan(ctx context.Context, c scan.Command) (scan.Ended, error)
}

// Images resolves tags.
type Images interface {
	// Digest returns the current digest of an image's tag.
	Digest(ctx context.Context, image chart.Image) (string, error)
}

// Signatures reads what registries have beside images.
type Signatures interface {
	// Evidence returns the signatures and statements about a digest. With an error, it returns those that could be read.
	Evidence(ctx context.Context, image chart.Image, digest string) (chart.Evidence, error)
}

// Scanner scans digests in the background. Set its fields before use. It is safe for concurrent use, and must be closed.
type Scanner struct {
	Store    Store    // required
	Programs Programs // required
	Images   Images   // required
	// Signatures reads signatures. Nil leaves scans of signatures waiting.
	Signatures Signatures
	// Now returns the current time. Default: time.Now.
	Now func() time.Time
	// Parallel is the maximum number of programs that run at once. Default: 2.
	Parallel int
	// Changed is called when results have changed. Optional.
	Changed func()

	lookups, programs background

	mu   sync.Mutex
	tags map[string]lookedUp
	// failed holds the records that could not be stored.
	failed map[string]scan.Record
}

const (
	defaultParallel = 2
	// maxArtifacts is the maximum number of images and charts in one call of Results.
	maxArtifacts = 200
	// maxKnown bounds the caches. Evicting an entry only costs time.
	maxKnown = 10_000
)

func (s *Scanner) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Close cancels the background work, and waits for it. Canceled scans have no record; the next Scanner runs them again.
func (s *Scanner) Close() {
	s.lookups.close()
	s.programs.close()
}

// Results returns the sorted results of all scans for their artifacts. It does not block: it starts missing scans.
func (s *Scanner) Results(ctx context.Context, scans []check.Scan, artifacts []scan.Artifact) []scan.Result {
	var results []scan.Result
	for i, a := range artifacts {
		for _, sc := range scans {
			switch {
			case sc.What != a.What:
			case i >= maxArtifacts:
				results = append(results, scan.ResultOf(sc, a, scan.Waiting, fmt.Sprintf("a pull request can have at most %d images and charts to scan", maxArtifacts)))
			default:
				results = append(results, s.look(ctx, sc, a))
			}
		}
	}
	scan.Sort(results)
	return results
}

// look returns the result of one scan of one artifact.
func (s *Scanner) look(ctx context.Context, sc check.Scan, a scan.Artifact) scan.Result {
	reference := a.Reference
	if a.What == check.Images {
		image, err := chart.ParseImage(a.Reference)
		if err != nil {
			return scan.ResultOf(sc, a, scan.Waiting, secret.Scrub(err.Error()))
		}
		if a.Digest = image.Digest; a.Digest == "" {
			found := s.tag(image)
			if found.digest == "" {
				state, reason := found.state()
				return scan.ResultOf(sc, a, state, reason)
			}
			a.Digest = found.digest
		}
		reference = image.At(a.Digest)
	}
	return s.digest(ctx, sc, a, reference)
}

// digest returns the result of a scan of a digest, and starts the scan if it is due. reference is the argument for the program.
func (s *Scanner) digest(ctx context.Context, sc check.Scan, a scan.Artifact, reference string) scan.Result {
	key := scan.Key(sc, a.Digest)
	if sc.Signatures != nil {
		key = scan.Key(sc, reference) // signatures are in the repository of the image
	}
	record, err := s.record(ctx, key)
	switch {
	case err != nil:
		return scan.ResultOf(sc, a, scan.Waiting, "read the record: "+secret.Scrub(err.Error()))
	case !s.due(sc, record):
		return scan.ResultOf(sc, a, record.State, "").With(sc, record)
	}
	r := run{key: key, scan: sc, known: record, digest: a.Digest, reference: reference, command: scan.CommandOf(sc, reference, a.Digest, a.Files)}
	work := func(ctx context.Context) bool { return s.run(ctx, r) }
	begun := s.programs.start(key, cmp.Or(max(s.Parallel, 0), defaultParallel), work, s.Changed)
	switch {
	case begun && record.Final():
		return scan.ResultOf(sc, a, record.State, "").While(record)
	case begun:
		return scan.ResultOf(sc, a, scan.Running, "")
	case record.Final():
		return scan.ResultOf(sc, a, record.State, "").With(sc, record)
	}
	return scan.ResultOf(sc, a, scan.Waiting, "the program is shutting down")
}

// due reports whether a scan has to run now, according to its record.
func (s *Scanner) due(sc check.Scan, record scan.Record) bool {
	at, ok := record.Due(sc)
	return ok && !s.now().Before(at)
}

// record returns the record of a key, from memory if it could not be stored.
func (s *Scanner) record(ctx context.Context, key string) (scan.Record, error) {
	s.mu.Lock()
	r, ok := s.failed[key]
	s.mu.Unlock()
	if ok {
		return r, nil
	}
	return s.Store.Record(ctx, key)
}

// Waiting is a scanner whose Results blocks until all scans have ended.
type Waiting struct{ *Scanner }

// Results returns the sorted results when no scan is running, or when the context ends.
func (w Waiting) Results(ctx context.Context, scans []check.Scan, artifacts []scan.Artifact) []scan.Result {
	for {
		lookup, program := w.lookups.next(), w.programs.next()
		results := w.Scanner.Results(ctx, scans, artifacts)
		if !slices.ContainsFunc(results, scan.Result.Runs) {
			return results
		}
		select {
		case <-ctx.Done():
			return results
		case <-lookup:
		case <-program:
		}
	}
}
