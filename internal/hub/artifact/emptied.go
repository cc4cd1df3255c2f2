package artifact

import (
	"slices"

	"sigs.k8s.io/yaml"
)

// Kustomizations are the names of the file that makes a folder a kustomization.
var Kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Emptied returns the kustomization of a folder that says that nothing should run: it lists no resources, in so many words. A folder without files may only be a
// mistake; this one is what an uninstalled target has.
func Emptied(files []File) (kustomization File, ok bool) {
	at := slices.IndexFunc(files, func(f File) bool { return slices.Contains(Kustomizations, f.Path) })
	if at < 0 {
		return File{}, false
	}
	var k map[string]any
	if yaml.Unmarshal(files[at].Content, &k) != nil {
		return File{}, false
	}
	for key := range k {
		if key != "apiVersion" && key != "kind" && key != "metadata" && key != "resources" {
			return File{}, false
		}
	}
	listed, ok := k["resources"].([]any)
	return files[at], ok && len(listed) == 0
}
