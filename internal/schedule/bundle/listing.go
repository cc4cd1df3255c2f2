package bundle

import (
	"fmt"
	"path"
	"strings"
)

// Listing is the content of a cluster type's inventory without the files, for callers that only need the assignments.
type Listing struct {
	Environment, ClusterType string
	// Assignments are sorted by target.
	Assignments []ListedAssignment
}

// ListedAssignment is an assignment of a cluster type.
type ListedAssignment struct{ Target, Workload, Workspace string }

// InventoryFolder is the folder of the inventories, relative to the folder of the generated files.
const InventoryFolder = inventoryFolder

// InventoryOf returns the cluster type whose inventory has the given
// path, and whether the path is that of an inventory.
func InventoryOf(file string) (clusterType string, ok bool) {
	dir, name := path.Split(file)
	clusterType, ok = strings.CutSuffix(name, ".json")
	return clusterType, ok && isFolderName(clusterType) && strings.HasSuffix("/"+dir, "/"+inventoryFolder+"/")
}

// ParseListing parses an inventory. It does not trust the content: it checks that names are valid folder names, and
// returns an error for content that is not an inventory, or that of another cluster type.
func ParseListing(file string, content []byte) (Listing, error) {
	clusterType, ok := InventoryOf(file)
	if !ok {
		return Listing{}, fmt.Errorf("%q is not the path of an inventory", file)
	}
	inv, err := decodeInventory(content, clusterType, nil)
	if err != nil {
		return Listing{}, err
	}
	listing := Listing{Environment: inv.Environment, ClusterType: clusterType, Assignments: make([]ListedAssignment, 0, len(inv.Assignments))}
	for _, a := range inv.Assignments {
		listing.Assignments = append(listing.Assignments, ListedAssignment{a.Target, a.Workload, a.Workspace})
	}
	return listing, nil
}
