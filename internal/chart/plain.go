package chart

import (
	"fmt"
	"path"
	"strings"
)

// Plain returns the manifests in a folder unchanged: every .yaml, .yml and .json file below it, ordered by
// path. The files are those of a repository; an empty folder means all of them.
func Plain(files []File, folder string) (*Manifests, error) {
	files, err := below(files, folder)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var w writer
	for _, f := range files {
		switch path.Ext(f.Path) {
		case ".yaml", ".yml", ".json":
			w.add(f.Path, string(f.Content))
		}
	}
	m, err := w.manifests()
	if err == nil && len(m.Objects) == 0 {
		err = fmt.Errorf("there is no object in the folder %q", folder)
	}
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	return m, nil
}

// below checks files, and returns those below a folder.
func below(files []File, folder string) ([]File, error) {
	if folder != "" {
		if err := checkPath(folder); err != nil {
			return nil, err
		}
		folder += "/"
	}
	var kept []File
	for _, f := range files {
		if strings.HasPrefix(f.Path, folder) {
			kept = append(kept, f)
		}
	}
	return checkFiles(kept)
}
