package engine

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// kustomize builds the kustomization in a folder, with images that were built. The files are those of the repository, because a
// kustomization can refer to others outside of its folder. It reads nothing else, and runs no program.
func kustomize(files []chart.File, folder string, images []chart.Built) (m *chart.Manifests, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, plain(fmt.Errorf("build kustomization %q: kustomize failed: %v", folder, r))
		}
	}()
	files, err = chart.Checked(files)
	if err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, err)
	}
	if folder != "" {
		if err := chart.CheckPath(folder); err != nil {
			return nil, fmt.Errorf("build kustomization: %w", err)
		}
	}
	if folder != "" && !slices.ContainsFunc(files, func(f chart.File) bool { return strings.HasPrefix(f.Path, folder+"/") }) {
		return nil, fmt.Errorf("build kustomization %q: the folder does not exist", folder)
	}
	if err := stayLocal(files); err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, err)
	}
	disk := filesys.MakeFsInMemory()
	for _, f := range files {
		if err := disk.WriteFile("/"+f.Path, f.Content); err != nil {
			return nil, fmt.Errorf("build kustomization %q: %w", folder, err)
		}
	}
	options := krusty.MakeDefaultOptions() // files must be below the kustomization that names them
	options.PluginConfig = types.DisabledPluginConfig()
	options.Reorder = krusty.ReorderOptionUnspecified // as the command kustomize does
	built, err := krusty.MakeKustomizer(options).Run(disk, "/"+folder)
	if err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, plain(err))
	}
	if err := withoutVersion(built); err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, plain(err))
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, plain(err))
	}
	made, err := setImages(string(text), images)
	if err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, err)
	}
	var w writer
	w.add(path.Join(folder, konfig.DefaultKustomizationFileName()), made)
	m, err = w.manifests()
	if err == nil && len(m.Objects) == 0 {
		err = errors.New("it makes no object")
	}
	if err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, err)
	}
	return m, nil
}

// withoutVersion removes the version from the label of buildMetadata: managedByLabel. It is the version of this program, so each upgrade
// would change every object.
func withoutVersion(built resmap.ResMap) error {
	for _, r := range built.Resources() {
		labels := r.GetLabels()
		if labels[konfig.ManagedbyLabelKey] != "kustomize-"+provenance.GetProvenance().Semver() {
			continue
		}
		labels[konfig.ManagedbyLabelKey] = "kustomize"
		if err := r.SetLabels(labels); err != nil {
			return err
		}
	}
	return nil
}

// isKustomization reports whether a file configures kustomize, which no cluster knows. Other programs have a kind of the same name.
func isKustomization(f chart.File) bool {
	var fields map[string]any
	if err := fleet.UnmarshalYAML(f.Content, &fields); err != nil {
		return false
	}
	group, _, _ := strings.Cut(text(fields, "apiVersion"), "/")
	named := slices.Contains(chart.KustomizationFiles, path.Base(f.Path))
	return group == konfigGroup || group == "" && named
}

// konfigGroup is the group of kustomize's own kinds.
const konfigGroup = "kustomize.config.k8s.io"
