package values

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Folder is a folder of the configuration that a target is rendered with.
type Folder struct {
	// Path is the folder, from the root of the configuration; empty for the root itself.
	Path string
	// Files are the files of its layers, from the root down.
	Files []string
}

// Name is the last element of the folder's path, by which a target is found; empty for the root.
func (f Folder) Name() string {
	if f.Path == "" {
		return ""
	}
	return path.Base(f.Path)
}

// Folders finds the folders of targets among the files of a configuration, sorted by path:
// those with a file of values and none in a folder below. The paths count from the root of the configuration.
func Folders(files []string) []Folder {
	written, parents := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		folder, name := split(file)
		if name != FileName {
			continue
		}
		written[folder] = true
		for folder != "" {
			folder, _ = split(folder)
			parents[folder] = true
		}
	}
	var found []Folder
	for _, folder := range slices.Sorted(maps.Keys(written)) {
		if !parents[folder] {
			found = append(found, Folder{Path: folder, Files: layers(folder, written)})
		}
	}
	return found
}

// layers are the files of a folder and of those that it lies in, from the root down.
func layers(folder string, written map[string]bool) []string {
	var files []string
	for {
		if written[folder] {
			files = append(files, path.Join(folder, FileName))
		}
		if folder == "" {
			slices.Reverse(files)
			return files
		}
		folder, _ = split(folder)
	}
}

// split divides a path into its folder, empty for the root, and its last element.
func split(p string) (folder, name string) {
	folder, name = path.Split(p)
	return strings.TrimSuffix(folder, "/"), name
}
