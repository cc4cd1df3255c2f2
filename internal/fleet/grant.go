package fleet

import (
	"cmp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// Grant gives the assignments of the targets that it selects more rights on clusters.
type Grant struct {
	Name string
	// Workspace is the workspace of the targets. Never empty.
	Workspace string
	// Targets selects targets of the workspace; an absent labelSelector and an empty one both match everything.
	Targets labels.Selector
	// Roles are the granted roles, each in one place, sorted and without duplicates.
	Roles []GrantedRole
	// Secrets are the Secrets outside of assignments' namespaces that the targets may name, sorted and without duplicates.
	Secrets []GrantedSecret
	Origin
}

// GrantedSecret is a Secret, and the beginning of the URLs that reconcilers may send it to, as in [repourl.Within].
type GrantedSecret struct{ Name, URL string }

// GrantedRole is a ClusterRole, and where its rights apply.
type GrantedRole struct {
	ClusterRole string
	// Namespace is where the rights apply. Empty means the namespace of the assignment.
	Namespace string
	// ClusterWide means that they apply in the whole cluster. Namespace is empty then.
	ClusterWide bool
}

func (g *Grant) ref() Ref                    { return Ref{Kind: kindGrant, Name: g.Name} }
func (g *Grant) labelled() map[string]string { return nil }

// Selects reports whether the grant is for a target.
func (g *Grant) Selects(t *Target) bool {
	return g.Workspace == t.Workspace && g.Targets.Matches(labels.Set(t.Labels))
}

// GrantsOf returns the grants for a target, sorted by name.
func (s *Snapshot) GrantsOf(t *Target) []*Grant {
	var all []*Grant
	for _, g := range s.Grants {
		if g.Selects(t) {
			all = append(all, g)
		}
	}
	return all
}

// checkGrant checks a grant. Its workspace is required: the registration, which belongs to the platform team, decides it, unlike labels, with
// which an application could claim the grant of another one.
func checkGrant(d *decoder, root *yaml.Node, g *v1alpha1.Grant) {
	d.require(root, "spec", "deploymentTargetSelector", "workspace")
	d.selector(root, g.Spec.DeploymentTargetSelector.LabelSelector, "spec", "deploymentTargetSelector", "labelSelector")
	if len(g.Spec.Roles) == 0 && len(g.Spec.Secrets) == 0 {
		d.fail(KindMissingField, root, "list what it grants", "spec.roles and spec.secrets are missing")
	}
	eachItem(d, root, "roles", g.Spec.Roles, func(n *yaml.Node, role v1alpha1.GrantedRole) {
		d.require(n, "clusterRole")
		if len(role.ClusterRole) > MaxSubdomain || len(content.IsPathSegmentName(role.ClusterRole)) > 0 {
			d.fail(KindInvalidName, lookup(n, "clusterRole"), "", "%s: %s cannot be the name of a ClusterRole", d.field("clusterRole"), quoteShort(role.ClusterRole))
		}
		if role.ClusterWide && len(role.Namespaces) > 0 {
			d.fail(KindInvalidValue, n, "remove one of them", "%s has namespaces and clusterWide", d.field())
		}
		if list := lookup(n, "namespaces"); list != nil && list.Kind == yaml.SequenceNode {
			for _, namespace := range list.Content {
				d.name(namespace, dnsLabel)
			}
		}
	})
	eachItem(d, root, "secrets", g.Spec.Secrets, func(n *yaml.Node, secret v1alpha1.GrantedSecret) {
		d.require(n, "name")
		d.require(n, "url")
		if name := lookup(n, "name"); name != nil {
			d.name(name, dnsSubdomain)
		}
		if at := lookup(n, "url"); at != nil && !repourl.IsPrefix(secret.URL) {
			d.fail(KindInvalidValue, at, "write a scheme, a host and a path, such as https://git.example.com/team", "%s is not the beginning of URLs", d.field("url"))
		}
	})
}

// eachItem calls check for each item of a list of the spec, with its node.
func eachItem[T any](d *decoder, root *yaml.Node, name string, items []T, check func(n *yaml.Node, item T)) {
	written := lookup(root, "spec", name)
	if written == nil || written.Kind != yaml.SequenceNode {
		return
	}
	for i, item := range items[:min(len(items), len(written.Content))] {
		d.within("spec."+name+"["+strconv.Itoa(i)+"]", func() { check(written.Content[i], item) })
	}
}

// grants compiles the grants of main and of the environment branch. That one of the branch has no effect is said at it, because its author
// expects it to restrict or extend the one of main.
func (a *assembly) grants() {
	onMain := map[Ref]Position{}
	visit(a.Main.Grants, func(w written) { onMain[w.ref()] = w.position() })
	visit(a.Branch.Grants, func(w written) {
		if first, taken := onMain[w.ref()]; taken {
			a.problem(SeverityWarning, KindDuplicate, w, "give it another name, or remove one of them",
				"it has no effect, because main has a Grant of the same name at %s", first)
		}
	})
	for _, o := range override(a.Main, a.Main.Grants, a.Branch.Grants) {
		a.s.Grants = append(a.s.Grants, compileGrant(o))
	}
}

func compileGrant(o Object[v1alpha1.Grant]) *Grant {
	selector := o.Value.Spec.DeploymentTargetSelector
	g := &Grant{Name: o.Value.Name, Workspace: selector.Workspace, Origin: o.Origin}
	g.Targets, _ = compileSelector(selector.LabelSelector)
	for _, role := range o.Value.Spec.Roles {
		if role.ClusterWide || len(role.Namespaces) == 0 {
			g.Roles = append(g.Roles, GrantedRole{ClusterRole: role.ClusterRole, ClusterWide: role.ClusterWide})
		}
		for _, namespace := range role.Namespaces {
			g.Roles = append(g.Roles, GrantedRole{ClusterRole: role.ClusterRole, Namespace: namespace})
		}
	}
	slices.SortFunc(g.Roles, compareRoles)
	g.Roles = slices.Compact(g.Roles)
	for _, secret := range o.Value.Spec.Secrets {
		g.Secrets = append(g.Secrets, GrantedSecret(secret))
	}
	slices.SortFunc(g.Secrets, func(a, b GrantedSecret) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.URL, b.URL)) })
	g.Secrets = slices.Compact(g.Secrets)
	return g
}

func compareRoles(a, b GrantedRole) int {
	wide := func(r GrantedRole) int {
		if r.ClusterWide {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.ClusterRole, b.ClusterRole), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(wide(a), wide(b)))
}

// RolesOf returns the roles of all given grants, sorted and without duplicates.
func RolesOf(grants []*Grant) []GrantedRole {
	var all []GrantedRole
	for _, g := range grants {
		all = append(all, g.Roles...)
	}
	slices.SortFunc(all, compareRoles)
	return slices.Compact(all)
}

// AllowsSecret reports whether one of the given grants lets reconcilers send a Secret to a URL.
func AllowsSecret(grants []*Grant, name, url string) bool {
	return slices.ContainsFunc(grants, func(g *Grant) bool {
		return slices.ContainsFunc(g.Secrets, func(s GrantedSecret) bool { return s.Name == name && repourl.Within(url, s.URL) })
	})
}
