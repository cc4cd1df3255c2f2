package schedule

import (
	"maps"
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// TestFoldersOfAPathHaveOnlyItsFiles, not those of a folder whose name begins like it.
func TestFoldersOfAPathHaveOnlyItsFiles(t *testing.T) {
	file := func(path, content string) bundle.File { return bundle.NewFile(path, []byte(content)) }
	ours := []bundle.File{file("fleet/.kalypso/inventory/b.json", "{}"), file("fleet/b/shop/namespace.yaml", "one")}
	foldersOf := func(files []bundle.File) map[string]string {
		digests, err := bundle.Branch{Root: "fleet", Top: bundle.TreeOf(files)}.FolderDigests(nil)
		if err != nil {
			t.Fatal(err)
		}
		return digests
	}
	want := foldersOf(ours)
	if got := slices.Collect(maps.Keys(want)); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("got %q", got)
	}
	for _, other := range []string{"fleetb/c/file.yaml", "fleet-2/b/file.yaml", "b/shop/namespace.yaml"} {
		if got := foldersOf(append(slices.Clone(ours), file(other, "two"))); !maps.Equal(got, want) {
			t.Errorf("%s changes %v to %v", other, want, got)
		}
	}
	if got := foldersOf(append(slices.Clone(ours), file("fleet/b/shop/other.yaml", "two"))); maps.Equal(got, want) {
		t.Error("a file of the folder changes nothing")
	}
}
