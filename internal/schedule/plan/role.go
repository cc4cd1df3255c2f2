package plan

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Role is a ClusterRole that a manifest binds, such as the role of a Grant to the service account of an assignment.
type Role struct {
	ClusterRole string `json:"clusterRole"`
	// Namespace is where its rights apply. Empty means the whole cluster.
	Namespace string `json:"namespace,omitempty"`
}

// String returns "NAME in namespace NAMESPACE", or "NAME in the whole cluster".
func (r Role) String() string {
	if r.Namespace == "" {
		return r.ClusterRole + " in the whole cluster"
	}
	return r.ClusterRole + " in namespace " + r.Namespace
}

// kind returns the role as it is the same for many assignments: without the name of the namespace.
func (r Role) kind() string {
	if r.Namespace == "" {
		return r.String()
	}
	return r.ClusterRole
}

// roles returns the ClusterRoles that the bindings in texts give.
func roles(texts [][]byte) []Role {
	var all []Role
	for _, text := range texts {
		if !bytes.Contains(text, []byte("ClusterRole")) {
			continue
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var d struct {
				Kind     string
				Metadata struct{ Namespace string }
				RoleRef  struct{ Kind, Name string } `yaml:"roleRef"`
			}
			if decoder.Decode(&d) != nil {
				break
			}
			if d.RoleRef.Kind == "ClusterRole" && strings.HasSuffix(d.Kind, "RoleBinding") {
				all = append(all, Role{d.RoleRef.Name, d.Metadata.Namespace})
			}
		}
	}
	return all
}

// compareRoles returns the roles that only one side gives.
func compareRoles(was, is [][]byte) (granted, withdrawn []Role) {
	before, after := roles(was), roles(is)
	granted = slices.DeleteFunc(slices.Clone(after), func(r Role) bool { return slices.Contains(before, r) })
	withdrawn = slices.DeleteFunc(before, func(r Role) bool { return slices.Contains(after, r) })
	return granted, withdrawn
}
