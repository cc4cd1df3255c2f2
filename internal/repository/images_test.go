package repository_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// registry answers by the tag of the image.
type registry struct {
	asked atomic.Int64
	// release ends the requests for "slow".
	release chan struct{}
}

var someDigest = "sha256:" + strings.Repeat("ab", 32)

// Digest implements [repository.Registry].
func (r *registry) Digest(ctx context.Context, image chart.Image) (string, error) {
	r.asked.Add(1)
	switch image.Tag {
	case "slow":
		select {
		case <-r.release:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	case "down":
		return "", fmt.Errorf("find image: %w: 127.0.0.1:1234", remote.ErrUnavailable)
	case "private":
		return "", fmt.Errorf("find image: %w", remote.ErrCredential)
	case "gone":
		return "", errors.New("not there <script>")
	case "hostile":
		return "sha256:<script>", nil
	}
	return someDigest, nil
}

func TestDigestsOfImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{release: make(chan struct{})}
		var changed atomic.Int64
		images := &repository.Images{Registry: r, Wait: 3 * time.Second, Changed: func() { changed.Add(1) }}
		references := []string{"shop:1", "shop@" + someDigest, "shop:down", "shop:private", "shop:gone", "shop:hostile", "$IMAGE:1", "shop:slow"}
		began := time.Now()
		got := images.Digests(t.Context(), references)
		const unanswered = "the registry does not answer"
		want := map[string]deliver.ImageDigest{
			"shop:1": {Digest: someDigest}, "shop:down": {Reason: unanswered}, "shop:hostile": {Reason: unanswered}, "$IMAGE:1": {Reason: "it is not an image reference"},
			"shop:private": {Reason: "the credential for the registry is missing, or not enough"}, "shop:gone": {Reason: "the registry does not have it"},
			"shop:slow": {Reason: "the registry did not answer yet", Pending: true},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(began); took != images.Wait {
			t.Errorf("it waits %v for a slow registry, want %v", took, images.Wait)
		}
		close(r.release)
		synctest.Wait()
		if changed.Load() != 1 {
			t.Errorf("a late answer was reported %d times", changed.Load())
		}
		asked := r.asked.Load()
		if got := images.Digests(t.Context(), references)["shop:slow"]; got.Digest != someDigest || r.asked.Load() != asked {
			t.Errorf("got %+v after %d more requests", got, r.asked.Load()-asked)
		}
		time.Sleep(2 * time.Hour) // of the test's own clock
		if images.Digests(t.Context(), references); r.asked.Load() != 2*asked {
			t.Errorf("%d requests after the answers became old, want %d", r.asked.Load(), 2*asked)
		}
	})
}

// A registry that never answers neither blocks a call that does not wait, nor takes more than a few connections.
func TestARegistryThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{release: make(chan struct{})}
		images := &repository.Images{Registry: r}
		var references []string
		for i := range 100 {
			references = append(references, fmt.Sprintf("shop-%d:slow", i))
		}
		began := time.Now()
		for _, found := range images.Digests(t.Context(), references) {
			if !found.Pending {
				t.Errorf("got %+v", found)
			}
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 || r.asked.Load() > 10 {
			t.Errorf("it waits %v, and sends %d requests at once", took, r.asked.Load())
		}
		time.Sleep(time.Minute)
		for reference, found := range images.Digests(t.Context(), references) {
			if found.Reason != "the registry does not answer" {
				t.Errorf("%s: got %+v", reference, found)
			}
		}
	})
}
