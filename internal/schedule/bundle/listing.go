package bundle

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Listing is what an inventory says about a cluster type, without the files: for those who want to know what is assigned,
// and not what has to be written.
type Listing struct {
	Environment, ClusterType string
	// Assignments are sorted by target.
	Assignments []ListedAssignment
}

// ListedAssignment is an assignment of a cluster type.
type ListedAssignment struct{ Target, Workload, Workspace string }

// InventoryFolder is where inventories are, relative to the folder that generated files go to.
const InventoryFolder = inventoryFolder

// InventoryOf returns the cluster type that a file is the inventory of, and whether it is one, by its path.
func InventoryOf(file string) (clusterType string, ok bool) {
	dir, name := path.Split(file)
	clusterType, ok = strings.CutSuffix(name, ".json")
	return clusterType, ok && isFolderName(clusterType) && strings.HasSuffix("/"+dir, "/"+inventoryFolder+"/")
}

// ParseListing reads an inventory, which may be anybody's: names are those that a folder can have, and content that is no inventory,
// or that of another cluster type, is an error.
func ParseListing(file string, content []byte) (Listing, error) {
	clusterType, ok := InventoryOf(file)
	if !ok {
		return Listing{}, fmt.Errorf("%q is not the path of an inventory", file)
	}
	inv, err := decodeInventory(content, clusterType)
	if err != nil {
		return Listing{}, err
	}
	listing := Listing{Environment: inv.Environment, ClusterType: clusterType, Assignments: make([]ListedAssignment, 0, len(inv.Assignments))}
	for _, target := range slices.Sorted(maps.Keys(inv.Assignments)) {
		a := inv.Assignments[target]
		listing.Assignments = append(listing.Assignments, ListedAssignment{target, a.Workload, a.Workspace})
	}
	return listing, nil
}
