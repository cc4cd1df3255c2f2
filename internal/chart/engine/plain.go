package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// plainManifests returns the manifests in a folder, with images that were built and otherwise unchanged: every .yaml, .yml and .json
// file below it, ordered by path, without kustomizations. The files are those of a repository; an empty folder means all of them.
func plainManifests(files []chart.File, folder string, built []chart.Built) (*chart.Manifests, error) {
	files, err := below(files, folder)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	if len(files) == 0 && folder != "" {
		return nil, fmt.Errorf("read manifests: the folder %q does not exist", folder)
	}
	var w writer
	for _, f := range files {
		switch path.Ext(f.Path) {
		case ".yaml", ".yml", ".json":
			if isKustomization(f) {
				continue
			}
			content, err := setImages(string(f.Content), built)
			if err != nil {
				return nil, fmt.Errorf("read manifests: %s: %w", f.Path, err)
			}
			w.add(f.Path, content)
		}
	}
	m, err := w.manifests()
	if err == nil && len(m.Objects) == 0 {
		err = fmt.Errorf("the folder %q has no objects", folder)
	}
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	return m, nil
}

// kustomizations returns a notice for each kustomization in a folder of manifests, which is not applied.
func kustomizations(files []chart.File, folder string) []fleet.Problem {
	files, _ = below(files, folder)
	var notices []fleet.Problem
	for _, f := range files {
		if slices.Contains(chart.KustomizationFiles, path.Base(f.Path)) && isKustomization(f) {
			notices = append(notices, fleet.Problem{
				Severity: fleet.SeverityNotice, Kind: fleet.KindTemplateOutput, Position: fleet.Position{Source: "source", File: f.Path},
				Message: "a kustomization in a folder of plain manifests is not applied", Hint: "write kustomization instead of manifests in the Delivery to apply it",
			})
		}
	}
	return notices
}

// below checks files, and returns those below a folder.
func below(files []chart.File, folder string) ([]chart.File, error) {
	if folder != "" {
		if err := chart.CheckPath(folder); err != nil {
			return nil, err
		}
		folder += "/"
	}
	var kept []chart.File
	for _, f := range files {
		if strings.HasPrefix(f.Path, folder) {
			kept = append(kept, f)
		}
	}
	return chart.Checked(kept)
}
