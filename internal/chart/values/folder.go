package values

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Folder is a folder of the configuration for a target.
type Folder struct {
	// Path is the folder, from the root of the configuration; empty for the root itself.
	Path string
	// Files are its layers, from the root down. In each folder, expressions come first.
	Files []string
}

// Name returns the last element of the folder's path, which identifies a target. Empty for the root.
func (f Folder) Name() string {
	if f.Path == "" {
		return ""
	}
	return path.Base(f.Path)
}

// Folders finds the targets' folders among the files of a configuration, sorted by path:
// those with a layer and none in a folder below. Paths are relative to the root of the configuration.
func Folders(files []string) []Folder {
	written, folders, parents := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, file := range files {
		folder, name := split(file)
		if !IsLayer(name) {
			continue
		}
		written[file] = true
		folders[folder] = true
		for folder != "" {
			folder, _ = split(folder)
			parents[folder] = true
		}
	}
	var found []Folder
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if !parents[folder] {
			found = append(found, Folder{Path: folder, Files: layers(folder, written)})
		}
	}
	return found
}

// layers returns the layers of a folder and its parents, from the root down.
func layers(folder string, written map[string]bool) []string {
	var files []string
	for {
		for _, name := range []string{FileName, ExpressionsName} { // reversed below
			if file := path.Join(folder, name); written[file] {
				files = append(files, file)
			}
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
