package engine

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// stayLocal returns an error for kustomizations that refer to anything outside of the given files.
// Kustomize has no option for that. It checks all kustomizations, used or not.
func stayLocal(files []chart.File) error {
	l := locality{files: make(map[string]chart.File, len(files)), folders: map[string]bool{".": true}}
	for _, f := range files {
		l.files[f.Path] = f
		for dir := path.Dir(f.Path); !l.folders[dir]; dir = path.Dir(dir) {
			l.folders[dir] = true
		}
	}
	for _, f := range files {
		if !slices.Contains(chart.KustomizationFiles, path.Base(f.Path)) {
			continue
		}
		fields, err := kustomizationOf(f)
		if err != nil {
			return err
		}
		if err := l.kustomization(f.Path, fields); err != nil {
			return err
		}
	}
	return nil
}

func kustomizationOf(f chart.File) (map[string]any, error) {
	var fields map[string]any
	if err := fleet.UnmarshalYAML(f.Content, &fields); err != nil {
		return nil, fmt.Errorf("%s: not valid YAML: %w", f.Path, plain(err))
	}
	return fields, nil
}

// locality has the files and folders that kustomizations may refer to, by path.
type locality struct {
	files   map[string]chart.File
	folders map[string]bool
}

// harmless are fields of kustomizations whose texts are not locations.
var harmless = []string{
	"apiVersion", "kind", "metadata", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "commonAnnotations",
	"images", "imageTags", "replicas", "vars", "sortOptions", "generatorOptions", "buildMetadata",
	"literals", "options", "patch", "target", "source", "targets", "name", "behavior", "type",
}

// foldersOf are the fields that can name folders, which kustomize may take for a Git repository.
var foldersOf = []string{"resources", "bases", "components"}

// pluginsOf are the fields whose entries configure plugins.
var pluginsOf = []string{"generators", "transformers", "validators"}

// kustomization checks the fields of a kustomization.
func (l *locality) kustomization(file string, fields map[string]any) error {
	for _, key := range sortedKeys(fields) {
		value := fields[key]
		outside := func(remote string) error {
			return fmt.Errorf("%s: %s: %.100q is outside of the repository; put a copy into it", file, key, remote)
		}
		switch {
		case slices.Contains(harmless, key):
		case key == "helmCharts" || key == "helmChartInflationGenerator" || key == "helmGlobals":
			return fmt.Errorf("%s: %s is not supported; deliver the chart itself", file, key)
		case slices.Contains(pluginsOf, key):
			entries, _ := value.([]any)
			for _, e := range entries {
				entry, _ := e.(string)
				if isRemote(entry) {
					return outside(entry)
				}
				if err := l.plugin(file, key, entry); err != nil {
					return err
				}
			}
		case slices.Contains(foldersOf, key):
			if remote, found := findText(value, isRemote); found {
				return outside(remote)
			}
		default:
			if remote, found := findText(value, isRemoteFile); found {
				return outside(remote)
			}
		}
	}
	return nil
}

// plugin checks an entry that configures plugins: the configuration itself, a file with it, or a folder.
func (l *locality) plugin(file, key, entry string) error {
	if documents, err := configurationsIn([]byte(entry)); err == nil && len(documents) > 0 {
		return configuration(file, key, "the inline plugin", documents)
	}
	return l.pluginAt(file, key, path.Join(path.Dir(file), entry), map[string]bool{})
}

// pluginAt checks a file or folder that configures plugins. The kustomization of a folder may list files and folders only: whatever
// else it can do changes the configuration, which is checked as it is written.
func (l *locality) pluginAt(file, key, at string, seen map[string]bool) error {
	if f, ok := l.files[at]; ok {
		documents, err := configurationsIn(f.Content)
		if err != nil {
			return fmt.Errorf("%s: %s: %s: not valid YAML: %w", file, key, at, plain(err))
		}
		return configuration(file, key, at, documents)
	}
	if !l.folders[at] {
		return fmt.Errorf("%s: %s: %.100q is neither a file nor a folder of the repository", file, key, at)
	}
	if seen[at] {
		return nil // kustomize reports the cycle
	}
	seen[at] = true
	for _, name := range chart.KustomizationFiles {
		f, ok := l.files[path.Join(at, name)]
		if !ok {
			continue
		}
		fields, err := kustomizationOf(f)
		if err != nil {
			return err
		}
		for _, field := range sortedKeys(fields) {
			if slices.Contains([]string{"apiVersion", "kind", "metadata"}, field) {
				continue
			}
			if !slices.Contains(foldersOf, field) {
				return fmt.Errorf("%s: %s: %q configures plugins, so its %s may only list resources; remove %s", file, key, at, f.Path, field)
			}
			entries, _ := fields[field].([]any)
			for _, e := range entries {
				entry, _ := e.(string)
				if err := l.pluginAt(file, key, path.Join(at, entry), seen); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return fmt.Errorf("%s: %s: the folder %q has no kustomization.yaml", file, key, at)
}

// configurationsIn returns the documents of a text. It fails if one is not a map.
func configurationsIn(content []byte) ([]map[string]any, error) {
	roots, _, err := fleet.ParseYAML(content, maxPluginDocuments)
	if err != nil {
		return nil, err
	}
	var documents []map[string]any
	for _, root := range roots {
		var document map[string]any
		if err := decode(root, &document); err != nil {
			return nil, err
		}
		if document != nil {
			documents = append(documents, document)
		}
	}
	return documents, nil
}

// maxPluginDocuments limits the documents of a file that configures plugins.
const maxPluginDocuments = 1000

// decode decodes a node. The parser panics on some invalid input.
func decode(node *yaml.Node, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser failed: %v", r)
		}
	}()
	return node.Decode(into)
}

// functionAnnotations turn an object into the configuration of a function.
// https://kubectl.docs.kubernetes.io/guides/extending_kustomize/containerized_krm_functions/
var functionAnnotations = []string{"config.kubernetes.io/function", "config.k8s.io/function"}

// locations are the fields of kustomize's own plugins whose texts it reads files from.
// https://kubectl.docs.kubernetes.io/references/kustomize/builtins/
var locations = []string{"path", "paths", "file", "files", "env", "envs"}

// configuration checks documents that configure plugins. Only those that are a part of kustomize run.
func configuration(file, key, at string, documents []map[string]any) error {
	for _, d := range documents {
		metadata, _ := d["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		for _, name := range functionAnnotations {
			if spec, ok := annotations[name]; ok {
				return fmt.Errorf("%s: %s: %s %s; run it beforehand, and commit the result", file, key, at, functionOf(spec))
			}
		}
		if version := text(d, "apiVersion"); version != konfig.BuiltinPluginApiVersion {
			return fmt.Errorf("%s: %s: %s configures %s of %q, a plugin that is not part of kustomize; run it beforehand, and commit the result",
				file, key, at, text(d, "kind"), version)
		}
		if remote, found := findLocation(d); found {
			return fmt.Errorf("%s: %s: %s reaches outside of the repository: %.100q; put a copy into it", file, key, at, remote)
		}
	}
	return nil
}

// functionOf describes what a function runs.
func functionOf(annotation any) string {
	var spec struct {
		Exec      *struct{ Path string }
		Container *struct{ Image string }
		Starlark  *struct{}
	}
	written, _ := annotation.(string)
	if err := fleet.UnmarshalYAML([]byte(written), &spec); err == nil {
		switch {
		case spec.Exec != nil:
			return fmt.Sprintf("is a function that runs the program %.100q, which Kalypso does not run", spec.Exec.Path)
		case spec.Container != nil:
			return fmt.Sprintf("is a function that runs the container %.100q, which Kalypso does not run", spec.Container.Image)
		case spec.Starlark != nil:
			return "is a function that runs a Starlark script, which Kalypso does not run"
		}
	}
	return "is a function, which runs a program or a container"
}

// findLocation returns a remote file that a plugin would read.
func findLocation(v any) (string, bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if text, found := findLocation(item); found {
				return text, true
			}
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			find := findLocation
			if slices.Contains(locations, key) {
				find = func(v any) (string, bool) { return findText(v, isRemoteFile) }
			}
			if text, found := find(v[key]); found {
				return text, true
			}
		}
	}
	return "", false
}

// findText returns a text that is remote. Fields that hold no locations are left out.
func findText(v any, remote func(string) bool) (string, bool) {
	switch v := v.(type) {
	case string:
		_, source, named := strings.Cut(v, "=") // KEY=FILE in a generator
		return v, remote(v) || named && remote(source)
	case []any:
		for _, item := range v {
			if text, found := findText(item, remote); found {
				return text, true
			}
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if slices.Contains(harmless, key) {
				continue
			}
			if text, found := findText(v[key], remote); found {
				return text, true
			}
		}
	}
	return "", false
}

// isRemote reports whether kustomize may take a text for a remote file or folder. It tries the second if the first fails.
func isRemote(text string) bool { return isRemoteFile(text) || isRemoteRepository(text) }

// isRemoteFile reports whether kustomize reads a file over HTTP, as IsRemoteFile in
// https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/loader/fileloader.go.
func isRemoteFile(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// userAtHost is the beginning of user@host:path.
var userAtHost = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// isRemoteRepository reports whether kustomize may clone a Git repository: a scheme, user@host:path, or GitHub without either, after an
// optional "git::". It also recognizes addresses that are incomplete, as extractHost begins to read them in
// https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/git/repospec.go.
func isRemoteRepository(text string) bool {
	text = strings.ToLower(text)
	text = strings.TrimPrefix(text, "git::")
	for _, prefix := range []string{"ssh://", "https://", "http://", "file://", "github.com/", "github.com:"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return userAtHost.MatchString(text)
}
