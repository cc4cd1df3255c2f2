package bundle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// TestFilesThatNoInventoryLists checks that everything in the folders of an environment that clusters may apply is
// known.
func TestFilesThatNoInventoryLists(t *testing.T) {
	files := written("dev", 2, 2)
	for _, at := range []string{
		"type-0/more.yaml", "type-0/target-00/kustomization.yaml", "type-0/target-01/deep/er/more.json", "type-1/other/more.yml", "type-1/target-00/Kustomization",
	} {
		files[at] = "more"
	}
	for _, at := range []string{"type-0/LICENSE", "type-1/target-00/notes.md", "elsewhere/more.yaml", "more.yaml", "type-1/nested/.kalypso/x.json", "type-1/nested/x.yaml"} {
		files[at] = "not applied, or not in a folder of ours"
	}
	shelf := &shelf{}
	first, err := ReadPublished(shelf.branch(files), "dev", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"type-0/more.yaml", "type-0/target-00/kustomization.yaml", "type-0/target-01/deep/er/more.json", "type-1/other/more.yml", "type-1/target-00/Kustomization",
	}
	if diff := cmp.Diff(want, first.Added); diff != "" {
		t.Errorf("added files (-want +got):\n%s", diff)
	}
	again := shelf.branch(files)
	again.Before = first
	if second, err := ReadPublished(again, "dev", nil, nil); err != nil || !cmp.Equal(second.Added, want) {
		t.Errorf("a second reading finds %v, %v", second.Added, err)
	}
}

// TestFilesOfOthers checks that the paths of a GitOpsRepo permit files beside assignments and pull files, and none in the
// folder of an assignment, or beside a folder whose whole it names.
func TestFilesOfOthers(t *testing.T) {
	files := written("dev", 1, 2)
	for _, at := range []string{
		"type-0/flux-system/x.yaml", "type-0/more.yaml", "type-0/target-00/flux-system/x.yaml", "type-0/target-00/more.yaml", "type-0/target-01/.sourceignore",
		"rings/west/pull.yaml", "rings/west/flux-system/x.yaml", "rings/west/more.yaml", "rings/west/README.md", "rings/another/more.yaml",
	} {
		files[at] = "more"
	}
	files[".kalypso/rings.json"] = string(encodeRings("dev", []fleet.Stage{{Name: "one", Ring: "one", Clusters: []string{"west"}}},
		map[string]File{"west": {Hash: HashOf([]byte("more"))}}, nil))
	branch := (&shelf{}).branch(files)
	branch.Unmanaged = fleet.Unmanaged{"*/flux-system/", "*/*/flux-system/", "type-0/target-00/more.yaml", "rings/west/"}
	p, err := ReadPublished(branch, "dev", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rings/west/flux-system/x.yaml", "type-0/flux-system/x.yaml"}, p.Unmanaged); diff != "" {
		t.Errorf("files of others (-want +got):\n%s", diff)
	}
	want := []string{
		"rings/west/more.yaml", "type-0/more.yaml", "type-0/target-00/flux-system/x.yaml", "type-0/target-00/more.yaml", "type-0/target-01/.sourceignore",
	}
	if diff := cmp.Diff(want, p.Added); diff != "" {
		t.Errorf("added files (-want +got):\n%s", diff)
	}
}
