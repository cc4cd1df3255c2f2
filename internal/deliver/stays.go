package deliver

import (
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/recipe"
)

// staying returns the Secrets that stay in the clusters although nothing among the manifests makes them any more, sorted.
func staying(old, now []byte) []string {
	made := secretsMade(now)
	return slices.DeleteFunc(secretsMade(old), func(name string) bool { return slices.Contains(made, name) })
}

// secretsMade returns the names of the Secrets that objects in manifests make in the cluster, and that are not removed with them: those of
// Jobs, of External Secrets without an owner, and of cert-manager.
func secretsMade(manifests []byte) []string {
	var names []string
	for _, text := range chart.Documents(string(manifests)) {
		var o struct {
			Kind string `json:"kind"`
			Spec struct {
				Target struct {
					Name           string `json:"name"`
					CreationPolicy string `json:"creationPolicy"`
				} `json:"target"`
				SecretName string `json:"secretName"`
				Template   struct {
					Spec struct {
						Containers []struct {
							Args []string `json:"args"`
						} `json:"containers"`
					} `json:"spec"`
				} `json:"template"`
			} `json:"spec"`
		}
		if yaml.Unmarshal([]byte(text), &o) != nil {
			continue
		}
		switch o.Kind {
		case "ExternalSecret":
			if o.Spec.Target.CreationPolicy == "Orphan" {
				names = append(names, o.Spec.Target.Name)
			}
		case "Certificate":
			names = append(names, o.Spec.SecretName)
		case "Job":
			for _, c := range o.Spec.Template.Spec.Containers {
				names = append(names, ofRecipe(c.Args)...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(slices.DeleteFunc(names, func(name string) bool { return name == "" }))
}

// ofRecipe returns the Secrets of the recipe in the arguments of a Job.
func ofRecipe(args []string) []string {
	if len(args) != 3 || args[0] != "make-secrets" {
		return nil
	}
	r, err := recipe.Decode(args[2])
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range r.Secrets {
		names = append(names, s.Name)
	}
	return names
}
