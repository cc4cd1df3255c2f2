package git

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"pgregory.net/rapid"
)

// Whatever two contents have in common, the delta makes the one from the other.
func TestDeltaProperty(t *testing.T) {
	line := rapid.SampledFrom([]string{"a: 1\n", "b: 2\n", "\n", "c", "c: 3\n", strings.Repeat("long ", 60) + "\n"})
	lines := rapid.SliceOfN(line, 1, 40)
	rapid.Check(t, func(rt *rapid.T) {
		base := []byte(strings.Join(lines.Draw(rt, "base"), ""))
		content := []byte(strings.Join(lines.Draw(rt, "content"), ""))
		delta := newDeltaBase(plumbing.ZeroHash, base).appendDelta(nil, content)
		made, err := packfile.PatchDelta(base, delta)
		if err != nil || !bytes.Equal(made, content) {
			rt.Fatalf("%q from %q: %q, %v", content, base, made, err)
		}
	})
}

// Manifests that differ in a few lines take little space, and git reads them.
func TestSimilarManifestsAreDeltas(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	put := map[string]string{}
	for i := range 200 {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\ndata:\n", i)
		for line := range 100 {
			fmt.Fprintf(&b, "  key-%d: %x\n", line, line*7919)
		}
		put[fmt.Sprintf("type-%d/app-%d/platform-config.yaml", i%5, i)] = b.String()
		put[fmt.Sprintf("type-%d/app-%d/namespace.yaml", i%5, i)] = fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: app-%d\n  labels:\n    managed-by: kalypso\n    type: type-%d\n", i, i%5)
	}
	c := mustCommit(t, r, request(Commit{}, put))
	if err := r.Push(t.Context(), "similar", "", c); err != nil {
		t.Fatal(err)
	}
	made.git("fsck", "--strict")
	got := contents(t, open(t, newClient(t, nil), made.dir).Tree(c))
	deltas, size := 0, 0
	for path, want := range put {
		if got[path] != want {
			t.Fatalf("%s is %q", path, got[path])
		}
		if info := made.git("cat-file", "--batch-check=%(deltabase)", "--batch-all-objects"); deltas == 0 {
			for line := range strings.Lines(info) {
				if strings.Trim(line, "0\n") != "" {
					deltas++
				}
			}
		}
		size += len(want)
	}
	if deltas < 350 {
		t.Errorf("%d of 400 blobs are deltas", deltas)
	}
	var disk int
	for line := range strings.Lines(made.git("cat-file", "--batch-check=%(objecttype) %(objectsize:disk)", "--batch-all-objects")) {
		var n int
		if _, err := fmt.Sscanf(line, "blob %d", &n); err == nil {
			disk += n
		}
	}
	if disk > size/8 {
		t.Errorf("%d bytes are stored for %d", disk, size)
	}
}
