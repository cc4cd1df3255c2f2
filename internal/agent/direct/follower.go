package direct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Server answers what the cluster should run. Its methods make one attempt.
type Server interface {
	// Deliveries returns the answer and its tag. With a tag it waits for a change; the envelope is nil without one.
	Deliveries(ctx context.Context, tag string, wait time.Duration) (envelope []byte, newTag string, err error)
	// Archive writes an archive from an offset on. With restart, nothing was written: the server has only the whole archive.
	Archive(ctx context.Context, digest string, offset, limit int64, w io.Writer) (restart bool, err error)
}

// Follower keeps the store up to date with the server.
type Follower struct {
	Server Server       // required
	Store  *Store       // required
	Log    *slog.Logger // required
	// Changed is called when the store has something new. // required
	Changed func()

	tag    string
	logged string
	// turn replaces downloadTurn in tests.
	turn time.Duration
}

// errGoesOn means that a download was interrupted, and goes on where it was.
var errGoesOn = errors.New("the download goes on")

const (
	pollWait = 45 * time.Second
	// downloadTurn is how long one archive is downloaded. Then others have their turn, and the server is asked for what is newer: on a slow connection, an
	// archive would otherwise hold up smaller ones, and be downloaded to the end although nothing needs it any more.
	downloadTurn       = 30 * time.Second
	minPause, maxPause = time.Second, 5 * time.Minute
)

// Run follows the server until the context ends.
func (f *Follower) Run(ctx context.Context) {
	pause := minPause
	for ctx.Err() == nil {
		err := f.once(ctx, pollWait)
		if ctx.Err() != nil {
			return
		}
		wait := time.Duration(0)
		switch {
		case errors.Is(err, errGoesOn):
			f.Log.Debug("downloads go on", "error", err)
			wait, pause = minPause, minPause
		case err != nil:
			f.logError(err)
			wait = f.pauseAfter(err, pause)
			pause = min(2*pause, maxPause)
		default:
			if f.logged != "" {
				f.Log.Info("the server says again what the cluster should run")
			}
			f.logged, pause = "", minPause
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (f *Follower) pauseAfter(err error, pause time.Duration) time.Duration {
	wait := pause/2 + rand.N(pause/2)
	var refusal interface{ RetryAfter() time.Duration }
	if errors.As(err, &refusal) {
		wait = max(wait, min(refusal.RetryAfter(), maxPause))
	}
	return wait
}

// logError logs a repeated error once.
func (f *Follower) logError(err error) {
	level := slog.LevelDebug
	if text := err.Error(); text != f.logged {
		f.logged, level = text, slog.LevelError
	}
	f.Log.Log(context.Background(), level, "cannot get what the cluster should run, it keeps what it has", "error", err)
}

// once asks the server, and downloads what is missing. It waits only if nothing is missing.
func (f *Follower) once(ctx context.Context, wait time.Duration) error {
	if last, err := f.Store.Desired(); err != nil {
		f.tag = ""
	} else if last == nil || len(f.missing(last)) > 0 {
		wait = 0
	}
	envelope, tag, err := f.Server.Deliveries(ctx, f.tag, wait)
	if err != nil {
		return err
	}
	if envelope != nil {
		next, err := f.Store.Accept(envelope)
		if err != nil {
			return err
		}
		f.Log.Debug("the server said what the cluster should run", "number", next.Number, "deliveries", len(next.Deliveries))
		f.tag = tag
		f.Changed()
	}
	desired, err := f.Store.Desired()
	if err != nil || desired == nil {
		return err
	}
	var failures []error
	goesOn := false
	for _, d := range f.missing(desired) {
		had := f.Store.partSize(d.Digest)
		if err := f.download(ctx, d.Digest, d.Size); err != nil {
			failures = append(failures, fmt.Errorf("download %s at %.7s: %w", d.ID(), d.Commit, err))
			goesOn = goesOn || f.Store.partSize(d.Digest) > had
			continue
		}
		f.Changed()
	}
	if goesOn {
		return fmt.Errorf("%w: %w", errGoesOn, errors.Join(failures...))
	}
	return errors.Join(failures...)
}

// missing returns the deliveries whose archives are not complete, one of each archive: those of the platform, and then those with the least to download.
func (f *Follower) missing(desired *hub.Deliveries) []hub.Delivery {
	var all []hub.Delivery
	left := map[string]int64{}
	for _, d := range desired.Deliveries {
		if _, known := left[d.Digest]; d.Digest != "" && !known && !f.Store.HasArchive(d.Digest) {
			all = append(all, d)
			left[d.Digest] = d.Size - f.Store.partSize(d.Digest)
		}
	}
	slices.SortStableFunc(all, func(a, b hub.Delivery) int {
		if a.Platform() != b.Platform() {
			return map[bool]int{true: -1, false: 1}[a.Platform()]
		}
		return cmp.Compare(left[a.Digest], left[b.Digest])
	})
	return all
}

// download gets an archive, or the rest of it.
func (f *Follower) download(ctx context.Context, digest string, size int64) (err error) {
	if size > hub.MaxDeliveryBytes {
		return fmt.Errorf("it has %d bytes, at most %d are accepted", size, hub.MaxDeliveryBytes)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.turn, downloadTurn))
	defer cancel()
	part, err := os.OpenFile(f.Store.archiveFile(digest)+".part", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if part != nil {
			err = errors.Join(err, part.Close())
		}
	}()
	info, err := part.Stat()
	if err != nil {
		return err
	}
	have := info.Size()
	if have < size {
		restart, err := f.Server.Archive(ctx, digest, have, size-have, part)
		if restart {
			return errors.Join(err, part.Truncate(0), errors.New("the download begins again"))
		}
		if err != nil {
			return err
		}
		if info, err = part.Stat(); err != nil {
			return err
		}
		if have = info.Size(); have < size {
			return fmt.Errorf("the connection ended after %d of %d bytes", have, size)
		}
	}
	err = errors.Join(part.Sync(), part.Close())
	part = nil
	if err != nil {
		return err
	}
	return f.Store.complete(digest)
}
