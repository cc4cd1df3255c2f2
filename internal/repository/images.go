package repository

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// Images looks up digests of images in their registries. Applications choose the images, so registries are not trusted: lookups run in
// the background, a few at a time, and each has a limit on its time. It is safe for concurrent use. Nil looks up none.
type Images struct {
	// Registry answers one request. // required
	Registry Registry
	// Wait is how long a call waits for registries. By default it does not wait: the next call has their answers.
	Wait time.Duration
	// Changed is called when a digest is found after a call returned; optional.
	Changed func()
	// Now returns the current time. Default: time.Now.
	Now func() time.Time

	mu    sync.Mutex
	known map[string]*lookup
	slots chan struct{}
}

// Registry returns the digest of an image's tag; [remote.Client] implements it.
type Registry interface {
	Digest(ctx context.Context, image chart.Image) (string, error)
}

var _ deliver.Images = (*Images)(nil)

// lookup is one request to a registry.
type lookup struct {
	done   chan struct{}
	result deliver.ImageDigest // after done
	at     time.Time
	// late means that a call returned without the result.
	late bool
}

const (
	// lookupTimeout limits one request, also while it waits for others.
	lookupTimeout = 10 * time.Second
	// maxLookups is how many requests run concurrently, maxImages how many images are known or looked up.
	maxLookups = 8
	maxImages  = 5000
	// freshDigest is the maximum age of a digest, freshFailure that of a failure.
	freshDigest  = time.Hour
	freshFailure = 10 * time.Minute
)

// Digests implements [deliver.Images].
func (i *Images) Digests(ctx context.Context, references []string) map[string]deliver.ImageDigest {
	if i == nil {
		return nil
	}
	pending := map[string]*lookup{}
	found := map[string]deliver.ImageDigest{}
	for _, reference := range references {
		image, err := chart.ParseImage(reference)
		switch {
		case err != nil:
			found[reference] = deliver.ImageDigest{Reason: "it is not an image reference"}
		case image.Digest == "":
			if pending[reference] = i.lookup(image); pending[reference] == nil {
				delete(pending, reference)
				found[reference] = deliver.ImageDigest{Reason: "too many images are looked up"}
			}
		}
	}
	ctx, stop := context.WithTimeout(ctx, i.Wait)
	defer stop()
	for reference, l := range pending {
		found[reference] = i.wait(ctx, l)
	}
	return found
}

// wait returns the result of a lookup if there is one in time.
func (i *Images) wait(ctx context.Context, l *lookup) deliver.ImageDigest {
	select {
	case <-l.done:
		return l.result
	default:
	}
	if i.Wait > 0 {
		select {
		case <-l.done:
			return l.result
		case <-ctx.Done():
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	l.late = true
	return deliver.ImageDigest{Reason: "the registry did not answer yet", Pending: true}
}

// lookup returns the lookup of an image, and starts one if there is none. It is nil if there are too many.
func (i *Images) lookup(image chart.Image) *lookup {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil {
		i.known, i.slots = map[string]*lookup{}, make(chan struct{}, maxLookups)
	}
	now := i.now()
	if l := i.known[image.String()]; l != nil && !l.stale(now) {
		return l
	}
	if len(i.known) >= maxImages {
		for name, l := range i.known {
			if l.stale(now) {
				delete(i.known, name)
			}
		}
		if len(i.known) >= maxImages {
			return nil
		}
	}
	l := &lookup{done: make(chan struct{})}
	i.known[image.String()] = l
	go i.run(l, image)
	return l
}

// stale reports whether a lookup is too old to be used.
func (l *lookup) stale(now time.Time) bool {
	select {
	case <-l.done:
	default:
		return false
	}
	if l.result.Digest == "" {
		return now.Sub(l.at) >= freshFailure
	}
	return now.Sub(l.at) >= freshDigest
}

func (i *Images) now() time.Time {
	if i.Now != nil {
		return i.Now()
	}
	return time.Now()
}

// run asks the registry. It does not depend on the call that started it: others wait for it, too.
func (i *Images) run(l *lookup, image chart.Image) {
	ctx, stop := context.WithTimeout(context.Background(), lookupTimeout)
	defer stop()
	var result deliver.ImageDigest
	select {
	case i.slots <- struct{}{}:
		digest, err := i.Registry.Digest(ctx, image)
		<-i.slots
		if err == nil && !chart.IsDigest(digest) {
			err = remote.ErrUnavailable
		}
		if err != nil {
			result.Reason = why(err)
		} else {
			result.Digest = digest
		}
	case <-ctx.Done():
		result.Reason = why(ctx.Err())
	}
	i.mu.Lock()
	l.result, l.at = result, i.now()
	late := l.late
	close(l.done)
	i.mu.Unlock()
	if late && i.Changed != nil {
		i.Changed()
	}
}

// why returns a reason that does not change from one attempt to the next, and has no text of the registry.
func why(err error) string {
	switch {
	case errors.Is(err, remote.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return "the registry does not answer"
	case errors.Is(err, remote.ErrCredential):
		return remote.ErrCredential.Error()
	}
	return "the registry does not have it"
}
