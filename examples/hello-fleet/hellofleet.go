// Package hellofleet embeds the example fleet that lies in this folder: two environments, four cluster types,
// one application and two platform services.
//
// The first folder of a path is a repository and the second its branch;
// what follows is the path within the branch:
//
//	control-plane/dev/cluster-types/east-us/drone/drone-cluster-type.yaml
//	└ repository  └ branch
package hellofleet

import (
	"embed"
	"io/fs"
)

// Files that schedule writes to gitops/ are no part of the example, so its branches are not embedded.
//
//go:embed all:control-plane all:hello-world-app all:platform-services gitops/README.md
var files embed.FS

// Files returns the example. It is read-only.
func Files() fs.FS { return files }
