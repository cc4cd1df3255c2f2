package bundle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

func TestListingEqualsTheInventory(t *testing.T) {
	const content = `{"version": 1, "environment": "dev", "clusterType": "drone", "assignments": {
	  "shop-west": {"workload": "shop", "workspace": "sales", "files": {}}, "shop-east": {"workload": "shop", "files": {}}}}`
	got, err := bundle.ParseListing("fleet/.kalypso/inventory/drone.json", []byte(content))
	want := bundle.Listing{
		Environment: "dev", ClusterType: "drone",
		Assignments: []bundle.ListedAssignment{{Target: "shop-east", Workload: "shop"}, {Target: "shop-west", Workload: "shop", Workspace: "sales"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for file, content := range map[string]string{
		".kalypso/inventory/large.json":  content,
		".kalypso/inventory/drone.json":  `{"version": 2, "clusterType": "drone"}`,
		".kalypso/inventory/drone.yaml":  content,
		".kalypso/inventory/../drone":    content,
		"x.kalypso/inventory/drone.json": content,
		".kalypso/inventory/a/b.json":    strings.ReplaceAll(content, "drone", "b"),
	} {
		if _, err := bundle.ParseListing(file, []byte(content)); err == nil {
			t.Errorf("%s: %s was read as an inventory", file, content)
		}
	}
}
