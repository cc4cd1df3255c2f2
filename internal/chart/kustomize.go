package chart

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

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Kustomize builds the kustomization in a folder. The files are those of the repository, because a kustomization can
// refer to others outside of its folder. It reads nothing else, and runs no program.
func Kustomize(files []File, folder string) (*Manifests, error) { return kustomize(files, folder, nil) }

// kustomize builds a kustomization with images that were built.
func kustomize(files []File, folder string, images []Built) (m *Manifests, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, plain(fmt.Errorf("build kustomization %q: kustomize failed: %v", folder, r))
		}
	}()
	files, err = checkFiles(files)
	if err != nil {
		return nil, fmt.Errorf("build kustomization %q: %w", folder, err)
	}
	if folder != "" {
		if err := checkPath(folder); err != nil {
			return nil, fmt.Errorf("build kustomization: %w", err)
		}
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
func isKustomization(f File) bool {
	var fields map[string]any
	if err := fleet.UnmarshalYAML(f.Content, &fields); err != nil {
		return false
	}
	group, _, _ := strings.Cut(text(fields, "apiVersion"), "/")
	named := slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(f.Path))
	return group == konfigGroup || group == "" && named
}

// konfigGroup is the group of kustomize's own kinds.
const konfigGroup = "kustomize.config.k8s.io"

// stayLocal returns an error for kustomizations that refer to anything outside of the given files.
// Kustomize has no option for that. It checks all kustomizations, used or not.
func stayLocal(files []File) error {
	byPath := make(map[string]File, len(files))
	for _, f := range files {
		byPath[f.Path] = f
	}
	for _, f := range files {
		if !slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(f.Path)) {
			continue
		}
		var fields map[string]any
		if err := fleet.UnmarshalYAML(f.Content, &fields); err != nil {
			return fmt.Errorf("%s: not valid YAML: %w", f.Path, plain(err))
		}
		if err := local(f.Path, fields, byPath); err != nil {
			return err
		}
	}
	return nil
}

// harmless are fields of kustomizations whose texts are not locations.
var harmless = []string{
	"apiVersion", "kind", "metadata", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "commonAnnotations",
	"images", "imageTags", "replicas", "vars", "sortOptions", "generatorOptions", "buildMetadata",
	"literals", "options", "patch", "target", "source", "targets", "name", "behavior", "type",
}

// local checks the fields of a kustomization.
func local(file string, fields map[string]any, files map[string]File) error {
	for _, key := range sortedKeys(fields) {
		value := fields[key]
		switch {
		case slices.Contains(harmless, key):
		case key == "helmCharts" || key == "helmChartInflationGenerator" || key == "helmGlobals":
			return fmt.Errorf("%s: %s is not supported; deliver the chart itself", file, key)
		case key == "generators" || key == "transformers" || key == "validators":
			if err := localPlugins(file, key, value, files); err != nil {
				return err
			}
		case key == "patchesStrategicMerge":
			if remote, found := findRemote(withoutInline(value)); found {
				return fmt.Errorf("%s: %s: %.100q is outside of the repository; put a copy into it", file, key, remote)
			}
		default:
			if remote, found := findRemote(value); found {
				return fmt.Errorf("%s: %s: %.100q is outside of the repository; put a copy into it", file, key, remote)
			}
		}
	}
	return nil
}

// withoutInline removes inline patches: a text with several lines is never treated as a location.
func withoutInline(v any) any {
	entries, _ := v.([]any)
	return slices.DeleteFunc(slices.Clone(entries), func(e any) bool {
		entry, ok := e.(string)
		return ok && strings.Contains(entry, "\n")
	})
}

// localPlugins checks the documents that configure kustomize's own plugins: any text in them could be a location.
func localPlugins(file, key string, value any, files map[string]File) error {
	entries, _ := value.([]any)
	for _, e := range entries {
		entry, _ := e.(string)
		content := entry
		if !strings.Contains(entry, "\n") {
			f, ok := files[path.Join(path.Dir(file), entry)]
			if !ok {
				return fmt.Errorf("%s: %s: %.100q is not a file of the repository", file, key, entry)
			}
			content = string(f.Content)
		}
		if strings.Contains(content, "config.kubernetes.io/function") || strings.Contains(content, "config.k8s.io/function") {
			return fmt.Errorf("%s: %s: %.100q is a function, which runs a program or a container; run it beforehand, and commit the result", file, key, entry)
		}
		if looksRemote(content) {
			return fmt.Errorf("%s: %s: %.100q reaches outside of the repository", file, key, entry)
		}
	}
	return nil
}

// findRemote returns a text that kustomize may treat as a remote location.
func findRemote(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, looksRemote(v)
	case []any:
		for _, item := range v {
			if text, found := findRemote(item); found {
				return text, true
			}
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if slices.Contains(harmless, key) {
				continue
			}
			if text, found := findRemote(v[key]); found {
				return text, true
			}
		}
	}
	return "", false
}

// looksRemote recognizes everything that kustomize treats as a URL: schemes, user@host:path, and GitHub without either.
func looksRemote(text string) bool {
	text = strings.ToLower(text)
	for _, mark := range []string{"://", "http:", "https:", "@", "git::", "github.com", "?ref="} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}
