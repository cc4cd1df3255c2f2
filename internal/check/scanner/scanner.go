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

// Store keeps what scans found, by their keys.
type Store interface {
	// Record returns what is kept; the zero value where nothing is.
	Record(ctx context.Context, key string) (scan.Record, error)
	// Keep keeps a record in the place of the one before.
	Keep(ctx context.Context, key string, r scan.Record) error
	// Claim waits until nobody else, here or in another process, works on a key. Release ends the claim.
	Claim(ctx context.Context, key string) (release func(), err error)
}

// Programs run what scans say.
type Programs interface {
	// Scan runs a program to its end. The error says why it came to none; [scan.ErrNotAllowed] that it must not be run here.
	Scan(ctx context.Context, c scan.Command) (scan.Ended, error)
}

// Images look tags up.
type Images interface {
	// Digest returns the digest that the tag of an image leads to now.
	Digest(ctx context.Context, image chart.Image) (string, error)
}

// Scanner has digests scanned in the background. Its fields are not changed any more once it is used; it is safe for concurrent
// use. Close it.
type Scanner struct {
	Store    Store    // required
	Programs Programs // required
	Images   Images   // required
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Parallel is how many programs run at once. Default: 2.
	Parallel int
	// Changed is told whenever a look would find more than the one before; nil for nobody.
	Changed func()

	lookups, programs background

	mu   sync.Mutex
	tags map[string]lookedUp
	// failed are runs that could not be put on record.
	failed map[string]scan.Record
}

const (
	defaultParallel = 2
	// maxArtifacts is how many images and charts one look is about: manifests may name any number.
	maxArtifacts = 200
	// maxKnown bounds what is remembered. It is only ever slower to forget.
	maxKnown = 10_000
)

func (s *Scanner) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Close ends what runs in the background, and waits for it. What was cut off has no record, and is run again by the next Scanner.
func (s *Scanner) Close() {
	s.lookups.close()
	s.programs.close()
}

// Results says how each scan of each artifact that it is about stands, in the order in which people read that. It does not wait:
// what nobody looked at yet is begun.
func (s *Scanner) Results(ctx context.Context, scans []check.Scan, artifacts []scan.Artifact) []scan.Result {
	var results []scan.Result
	for i, a := range artifacts {
		for _, sc := range scans {
			switch {
			case sc.What != a.What:
			case i >= maxArtifacts:
				results = append(results, scan.ResultOf(sc, a, scan.Waiting, fmt.Sprintf("there are more than the %d images and charts that are scanned for one change", maxArtifacts)))
			default:
				results = append(results, s.look(ctx, sc, a))
			}
		}
	}
	scan.Sort(results)
	return results
}

// look says how one scan of one artifact stands.
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

// digest says how a scan of a digest stands, and begins it when it is due. reference names it for the program.
func (s *Scanner) digest(ctx context.Context, sc check.Scan, a scan.Artifact, reference string) scan.Result {
	key := scan.Key(sc, a.Digest)
	record, err := s.record(ctx, key)
	switch {
	case err != nil:
		return scan.ResultOf(sc, a, scan.Waiting, "what is on record cannot be read: "+secret.Scrub(err.Error()))
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
	return scan.ResultOf(sc, a, scan.Waiting, "nothing is begun any more: the program ends")
}

// due reports whether a scan is to be run now, by what is on record.
func (s *Scanner) due(sc check.Scan, record scan.Record) bool {
	at, ok := record.Due(sc)
	return ok && !s.now().Before(at)
}

// record is what is known of a key: what could not be kept is remembered.
func (s *Scanner) record(ctx context.Context, key string) (scan.Record, error) {
	s.mu.Lock()
	r, ok := s.failed[key]
	s.mu.Unlock()
	if ok {
		return r, nil
	}
	return s.Store.Record(ctx, key)
}

// Waiting is a scanner whose results are those at the end, when nothing runs any more: for programs that end then.
type Waiting struct{ *Scanner }

// Results says how each scan of each artifact stands when none runs any more, or when the context ends.
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
