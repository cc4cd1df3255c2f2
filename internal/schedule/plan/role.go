package plan

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Role is a ClusterRole that a manifest binds, such as the role of a Grant to the service account of an assignment.
type Role struct {
	ClusterRole string `json:"clusterRole"`
	// Namespace is where its rights apply. Empty means the whole cluster.
	Namespace string `json:"namespace,omitempty"`
}

// String returns "NAME in namespace NAMESPACE", or "NAME in the whole cluster".
func (r Role) String() string {
	return r.ClusterRole + " " + r.place()
}

// place says where the rights apply.
func (r Role) place() string {
	if r.Namespace == "" {
		return "in the whole cluster"
	}
	return "in namespace " + r.Namespace
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
	return distinct(all)
}

// Secret is a Secret outside of the assignment's namespace that a reconciler sends to a repository.
type Secret = bundle.SentSecret

// secrets returns the Secrets that the reconciler's objects in texts send, except those of the assignment's namespace.
func secrets(texts [][]byte, namespace string) []Secret {
	var all []Secret
	for _, text := range texts {
		all = append(all, bundle.SentSecrets(text, namespace)...)
	}
	for i := range all {
		all[i].URL = secret.Redact(all[i].URL)
	}
	return distinct(all)
}

// distinct removes repeated elements: a role can be bound to several service accounts.
func distinct[T comparable](all []T) []T {
	var once []T
	for _, x := range all {
		if !slices.Contains(once, x) {
			once = append(once, x)
		}
	}
	return once
}

// RightsOf returns the roles that the files of an assignment with a namespace bind, and the Secrets of other namespaces that they have sent.
func RightsOf(files []bundle.File, namespace string) ([]Role, []Secret) {
	var texts [][]byte
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".yaml") {
			texts = append(texts, f.Content())
		}
	}
	return roles(texts), secrets(texts, namespace)
}

// addRights adds the roles and Secrets that only one side has.
func (c *Change) addRights(was, is [][]byte, namespace string) {
	c.Granted, c.Withdrawn = differences(roles(was), roles(is))
	c.GrantedSecrets, c.WithdrawnSecrets = differences(secrets(was, namespace), secrets(is, namespace))
}

// differences returns what only one of two lists has.
func differences[T comparable](before, after []T) (added, removed []T) {
	added = slices.DeleteFunc(slices.Clone(after), func(x T) bool { return slices.Contains(before, x) })
	removed = slices.DeleteFunc(before, func(x T) bool { return slices.Contains(after, x) })
	return added, removed
}

// Rights describes the roles and Secrets that the group grants or withdraws, such as "grants edit in the namespace of each". It is empty
// without any.
func (g Group) Rights() string {
	var parts []string
	for _, side := range []struct {
		verb    string
		roles   func(c *Change) []Role
		secrets func(c *Change) []Secret
	}{
		{"grants", func(c *Change) []Role { return c.Granted }, func(c *Change) []Secret { return c.GrantedSecrets }},
		{"withdraws", func(c *Change) []Role { return c.Withdrawn }, func(c *Change) []Secret { return c.WithdrawnSecrets }},
	} {
		names := common(g, side.roles, Role.String, func(r Role) string { return r.ClusterRole + " in the namespace of each" })
		names = append(names, common(g, side.secrets, Secret.String, func(s Secret) string { return s.Secret() + " to the repository of each" })...)
		if len(names) > 0 {
			parts = append(parts, side.verb+" "+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// MayStay says where objects of removed assignments may stay; empty if nowhere.
func (g Group) MayStay() string {
	var places []string
	for _, r := range g.Changes[0].MayStay {
		places = append(places, r.place())
	}
	if len(places) == 0 {
		return ""
	}
	return "what it applied " + strings.Join(distinct(places), ", ") + " may stay, because its rights there go with its namespace"
}

// common describes the rights of all changes of a group, which have the same number: with one text if they are equal, or with the other.
func common[T comparable](g Group, of func(c *Change) []T, same, each func(T) string) []string {
	var names []string
	for i, right := range of(g.Changes[0]) {
		name := same
		if slices.ContainsFunc(g.Changes, func(c *Change) bool { return of(c)[i] != right }) {
			name = each
		}
		names = append(names, name(right))
	}
	return names
}
