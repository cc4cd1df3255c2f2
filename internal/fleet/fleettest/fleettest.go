// Package fleettest builds sources and snapshots from text, for tests.
package fleettest

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Source returns a source with the given files, path to content.
// Its repository is "https://example.com/<name>", its branch "main".
func Source(name string, files map[string]string) fleet.Source {
	source := fleet.Source{Name: name, Repo: "https://example.com/" + name, Branch: "main"}
	for path, content := range files {
		source.Files = append(source.Files, File(path, content))
	}
	return source
}

// File returns a file with the content and an id derived from it.
func File(path, content string) fleet.File {
	id := sha1.Sum([]byte(content))
	return fleet.File{
		Path: path, ID: hex.EncodeToString(id[:]), Size: int64(len(content)),
		Read: func() ([]byte, error) { return []byte(content), nil },
	}
}

// FromTxtar assembles the snapshot of an environment from the files of an archive, at the paths of [Inputs].
// Other files are ignored.
func FromTxtar(ar *txtar.Archive, env string) *fleet.Snapshot {
	files := map[string]string{}
	for _, f := range ar.Files {
		if known(f.Name) {
			files[f.Name] = string(f.Data)
		}
	}
	return fleet.Assemble(Inputs(env, files))
}

// Inputs reads the sources of an environment from files, path to content. The first folder selects the source:
//
//	main/...                       the control plane's main branch
//	env/...                        the environment branch
//	workloads/<registration>/...   the repository of a workload, below the registered path
//	configs/<config repo>/...      an additional configuration repository
//
// Sources are named "main", or after the environment, the registration or the ConfigRepo. A registration or
// ConfigRepo without a folder is unreachable.
func Inputs(env string, files map[string]string) fleet.Inputs {
	in := fleet.Inputs{
		Environment: env,
		Main:        read("main", below(files, "main/")),
		Branch:      read(env, below(files, "env/")),
		Workloads:   map[string]fleet.Fetched{},
		ConfigRepos: map[string]fleet.Fetched{},
	}
	for name, files := range byFolder(below(files, "workloads/")) {
		in.Workloads[name] = fleet.Fetched{Objects: read(name, files)}
	}
	for name, files := range byFolder(below(files, "configs/")) {
		in.ConfigRepos[name] = fleet.Fetched{Objects: read(name, files)}
	}
	return in
}

func read(name string, files map[string]string) *fleet.Objects {
	return fleet.Read(nil, Source(name, files))
}

func known(path string) bool {
	folder, rest, found := strings.Cut(path, "/")
	switch folder {
	case "main", "env":
		return found
	case "workloads", "configs":
		return strings.Contains(rest, "/")
	}
	return false
}

func below(files map[string]string, folder string) map[string]string {
	inner := map[string]string{}
	for path, content := range files {
		if rest, ok := strings.CutPrefix(path, folder); ok {
			inner[rest] = content
		}
	}
	return inner
}

func byFolder(files map[string]string) map[string]map[string]string {
	folders := map[string]map[string]string{}
	for path, content := range files {
		folder, rest, _ := strings.Cut(path, "/")
		if folders[folder] == nil {
			folders[folder] = map[string]string{}
		}
		folders[folder][rest] = content
	}
	return folders
}
