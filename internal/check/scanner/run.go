package scanner

import (
	"context"
	"errors"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

type run struct {
	key  string
	scan check.Scan
	// known is the record before the run.
	known   scan.Record
	digest  string
	command scan.Command
	// reference is the program's argument for the digest.
	reference string
}

// run runs a program, unless another process has done it, and stores the record. A canceled run leaves no record.
func (s *Scanner) run(ctx context.Context, r run) (news bool) {
	release, err := s.Store.Claim(ctx, r.key)
	if err != nil {
		return s.unrecorded(ctx, r, err)
	}
	defer release()
	before, err := s.Store.Record(ctx, r.key)
	if err != nil {
		return s.unrecorded(ctx, r, err)
	}
	if !s.due(r.scan, before) {
		return s.forget(r.key)
	}
	ended, err := s.scan(ctx, r)
	if ctx.Err() != nil {
		return false
	}
	ended.Output = check.Redact(ended.Output)
	if errors.Is(err, scan.ErrNotAllowed) {
		// The program did not run. It is retried as soon as the operator allows it.
		return s.unrecorded(ctx, r, err)
	}
	after := r.record(before, ended, err, s)
	if err := s.Store.Keep(ctx, r.key, after); err != nil {
		return s.remember(r.key, after)
	}
	return s.forget(r.key)
}

// scan runs the program, or verifies signatures.
func (s *Scanner) scan(ctx context.Context, r run) (scan.Ended, error) {
	if r.scan.Signatures == nil {
		return s.Programs.Scan(ctx, r.command)
	}
	if s.Signatures == nil {
		return scan.Ended{}, errors.New("signatures are not verified here")
	}
	image, err := chart.ParseImage(r.reference)
	if err != nil {
		return scan.Ended{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, signatureTimeout)
	defer cancel()
	evidence, unread := s.Signatures.Evidence(ctx, image, r.digest)
	ended, err := scan.Verify(evidence, *r.scan.Signatures, r.digest)
	if err == nil && ended.Code != 0 {
		err = unread // what could not be read may be what is missing
	}
	return ended, err
}

// signatureTimeout limits reading the signatures of an image.
const signatureTimeout = time.Minute

// record returns the record after a run.
func (r run) record(before scan.Record, ended scan.Ended, err error, s *Scanner) scan.Record {
	if err != nil {
		err = errors.New(secret.Scrub(check.Redact(err.Error())))
	}
	after := before.After(r.scan, ended, err, s.now())
	after.Scan, after.Reference, after.Digest = r.scan.Name, r.reference, r.digest
	return after
}

// unrecorded remembers why nothing could be run, so that it is not retried at once.
func (s *Scanner) unrecorded(ctx context.Context, r run, why error) (news bool) {
	if ctx.Err() != nil {
		return false
	}
	s.mu.Lock()
	before := s.failed[r.key]
	s.mu.Unlock()
	if r.known.Final() {
		before = r.known // the earlier result stays in effect
	}
	return s.remember(r.key, r.record(before, scan.Ended{}, why, s))
}

// remember keeps a record that could not be stored in memory, until the process ends.
func (s *Scanner) remember(key string, record scan.Record) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil || len(s.failed) >= maxKnown {
		s.failed = map[string]scan.Record{}
	}
	s.failed[key] = record
	return true
}

// forget drops the remembered record of a key, so that the stored one applies.
func (s *Scanner) forget(key string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, key)
	return true
}
