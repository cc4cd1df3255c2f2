package largefleet

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Files are the repositories of a fleet: content by path.
type Files struct {
	// Environment is the name of the environment and of its branch.
	Environment string
	// Main and Env are the branches of the control plane.
	Main, Env map[string]string
	// Workloads are the repositories of the application teams, by the name of the registration.
	Workloads map[string]map[string]string
}

// Generate returns the files of a fleet. Equal specs give equal files.
func Generate(s Spec) Files {
	s = s.withDefaults()
	f := Files{
		Environment: s.Environment,
		Main:        map[string]string{},
		Env:         map[string]string{},
		Workloads:   map[string]map[string]string{},
	}
	s.addMain(f)
	s.addEnvironment(f)
	s.addConfigs(f)
	s.addWorkloads(f)
	return f
}

// ChangeValue returns the files with another value in the most specific layer of the first cluster type, where it
// takes precedence: the smallest change that a platform team makes. Unchanged files are shared. A fleet with fewer
// than five layers has no layer for a single cluster type, and stays the same.
func (f Files) ChangeValue() Files {
	return f.change(Spec{}.clusterType(0).configFile())
}

// ChangeCluster returns the files with another value of the first cluster. A fleet without clusters stays the same.
func (f Files) ChangeCluster() Files { return f.change(clusterFile(clusterName(0))) }

// change returns the files with another last value in a file of the environment branch.
func (f Files) change(file string) Files {
	content, ok := f.Env[file]
	if !ok {
		return f
	}
	upToLastValue := content[:strings.LastIndex(content, ": ")+2]
	f.Env = maps.Clone(f.Env)
	f.Env[file] = upToLastValue + "changed\n"
	return f
}

// Sources returns the files as sources: main, the environment branch, and the
// workload repositories by the name of the registration.
func (f Files) Sources() (main, env fleet.Source, workloads map[string]fleet.Source) {
	workloads = make(map[string]fleet.Source, len(f.Workloads))
	for name, files := range f.Workloads {
		workloads[name] = source(name, appsURL+name, "main", files)
	}
	return source("main", controlPlaneURL, "main", f.Main),
		source(f.Environment, controlPlaneURL, f.Environment, f.Env),
		workloads
}

func source(name, repo, branch string, files map[string]string) fleet.Source {
	s := fleet.Source{Name: name, Repo: repo, Branch: branch}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		content := files[path]
		s.Files = append(s.Files, fleet.File{
			Path: path,
			ID:   blobID(content),
			Size: int64(len(content)),
			Read: func() ([]byte, error) { return []byte(content), nil },
		})
	}
	return s
}

// blobID returns the ID that Git gives the content.
func blobID(content string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	return hex.EncodeToString(sum[:])
}
