package scanner

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Tags can move, so digests are looked up again after some time. Failed lookups are retried with doubling pauses.
const (
	believed      = 10 * time.Minute
	firstAgain    = 30 * time.Second
	longestAgain  = 15 * time.Minute
	lookupTimeout = time.Minute
	maxLookups    = 4
)

// lookedUp is the result of looking up a tag.
type lookedUp struct {
	// digest is the last known digest. reason explains why there is none.
	digest, reason string
	// looked is the time of the last lookup, failures the number of lookups that failed since the last success.
	looked   time.Time
	failures int
}

// state returns the state of the scans of an image without a known digest.
func (l lookedUp) state() (scan.State, string) {
	if l.reason == "" {
		return scan.Running, "its digest is looked up"
	}
	return scan.Waiting, l.reason
}

func (l lookedUp) due(now time.Time) bool {
	pause := believed
	if l.failures > 0 {
		pause = firstAgain
		for range l.failures - 1 {
			pause = min(2*pause, longestAgain)
		}
	}
	return l.looked.IsZero() || !now.Before(l.looked.Add(pause))
}

// tag returns the known digest of an image's tag. If it is old or unknown, a lookup starts in the background.
func (s *Scanner) tag(image chart.Image) lookedUp {
	key := image.String()
	s.mu.Lock()
	known := s.tags[key]
	s.mu.Unlock()
	if known.due(s.now()) {
		s.lookups.start(key, maxLookups, func(ctx context.Context) bool { return s.lookUp(ctx, image) }, s.Changed)
	}
	return known
}

// lookUp resolves the tag, and reports whether the result is new. A failed lookup keeps the known digest.
func (s *Scanner) lookUp(ctx context.Context, image chart.Image) (news bool) {
	asking, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	digest, err := s.Images.Digest(asking, image)
	if ctx.Err() != nil {
		return false
	}
	key := image.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.tags[key]
	was := known
	known.looked = s.now()
	switch {
	case err == nil && chart.IsDigest(digest):
		known.digest, known.reason, known.failures = digest, "", 0
	default:
		known.failures++
		if known.digest == "" {
			known.reason = "its digest cannot be looked up"
			if err != nil {
				known.reason += ": " + secret.Scrub(err.Error())
			}
		}
	}
	if len(s.tags) >= maxKnown {
		clear(s.tags)
	}
	if s.tags == nil {
		s.tags = map[string]lookedUp{}
	}
	s.tags[key] = known
	return known.digest != was.digest || known.reason != was.reason
}
