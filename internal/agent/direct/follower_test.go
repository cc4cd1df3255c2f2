package direct

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// slowly sends a hundred bytes of an archive, and then nothing until the client gives up.
type slowly struct {
	*world
	digest string
	order  []string
}

func (s *slowly) Archive(ctx context.Context, digest string, offset, limit int64, to io.Writer) (bool, error) {
	s.order = append(s.order, digest)
	if digest != s.digest || limit <= 100 {
		return s.world.Archive(ctx, digest, offset, limit, to)
	}
	if _, err := s.world.Archive(ctx, digest, offset, 100, to); err != nil {
		return false, err
	}
	<-ctx.Done()
	return false, ctx.Err()
}

// On a slow connection, a large archive is downloaded in turns: others do not wait for it, and what is newer replaces it.
func TestAnArchiveThatIsSlowDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	value := "" // that cannot be compressed
	for n := range 20 {
		value += fmt.Sprintf("%x", sha256.Sum256([]byte{byte(n)}))
	}
	w.set("dev-shop/a-large", "b", inNamespace(), configMap("large", value))
	w.set("dev-shop/b-small", "b", inNamespace(), configMap("small", "1"))
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace, configMap("settings", "a larger archive than that of b-small"))
	large, small, first := w.deliveries[0], w.deliveries[1], w.deliveries[2]
	if large.Size <= 200 || small.Size >= first.Size {
		t.Fatalf("the archives have %d, %d and %d bytes", large.Size, small.Size, first.Size)
	}
	server := &slowly{world: w, digest: large.Digest}
	_, f := w.start()
	f.Server, f.turn = server, 20*time.Millisecond
	if err := f.once(t.Context(), 0); !errors.Is(err, errGoesOn) {
		t.Errorf("got %v", err)
	}
	if !w.store.HasArchive(small.Digest) || !w.store.HasArchive(first.Digest) || w.store.partSize(large.Digest) != 100 {
		t.Errorf("the small archives are not there, or %d bytes of the large one", w.store.partSize(large.Digest))
	}
	if want := []string{first.Digest, small.Digest, large.Digest}; !slices.Equal(server.order, want) {
		t.Errorf("downloaded in the order %q, want %q", server.order, want)
	}
	for n := 0; !w.store.HasArchive(large.Digest); n++ {
		_, f = w.start() // also after a restart
		f.Server, f.turn = server, 20*time.Millisecond
		if err := f.once(t.Context(), 0); n > 100 || err != nil && !errors.Is(err, errGoesOn) {
			t.Fatalf("got %v", err)
		}
	}
	if want := int(large.Size + small.Size + first.Size); w.sent != want {
		t.Errorf("%d bytes were sent, want %d", w.sent, want)
	}

	// A connection without progress is a failure, so that pauses grow.
	w.set("dev-shop/a-large", "c", inNamespace(), configMap("large", "2"))
	w.archives[w.deliveries[2].Digest] = nil
	if err := f.once(t.Context(), 0); err == nil || errors.Is(err, errGoesOn) {
		t.Errorf("got %v", err)
	}
}

// After weeks, only the newest of many versions is applied, in the order of an ordinary deployment: the platform, what others depend on, and they.
func TestCatchesUpWithTheNewest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const store = "dev-shop/store"
	spec := inNamespace()
	spec.DependsOn = []string{"store"}
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "a", spec, configMap("shop", "0"))
	w.set(store, "a", inNamespace(), deployment("v0"))
	d, f := w.start()
	w.settle(d, f)
	w.run(1)
	w.settle(d, f)
	w.settle(d, f)
	w.wantReport(d, shop, hub.StateReady, "aaa", "aaa", "")

	w.away = true
	for _, commit := range []string{"b", "c", "d"} {
		w.now = w.now.Add(7 * 24 * time.Hour)
		w.set(platform, commit, hub.DirectDeliverySpec{}, namespace, configMap("platform", commit))
		w.set(shop, commit, spec, configMap("shop", commit))
		w.set(store, commit, inNamespace(), deployment(commit))
		w.settle(d, f)
	}
	var applied []string
	w.machine.before = func(_, path string) error {
		applied = append(applied, path[strings.LastIndex(path, "/")+1:])
		return nil
	}
	w.away = false
	w.run(0)
	for range 4 {
		w.settle(d, f)
	}
	w.wantReport(d, shop, hub.StateProgressing, "ddd", "aaa", "waits for store")
	w.run(1)
	w.now = w.now.Add(time.Minute)
	w.settle(d, f)
	w.settle(d, f)
	for _, id := range []string{platform, shop, store} {
		w.wantReport(d, id, hub.StateReady, "ddd", "ddd", "")
	}
	if want := []string{"dev-shop", "platform", "web", "shop"}; !slices.Equal(applied, want) {
		t.Errorf("applied %q, want %q", applied, want)
	}
}
