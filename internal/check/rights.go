package check

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Rules about what the manifests of an application may change on a cluster.
const (
	// RuleClusterScoped is the rule that there are no objects without a namespace: they would change the cluster for all applications.
	RuleClusterScoped = "cluster-scoped"
	// RuleForeignNamespace is the rule that objects are in the application's own namespaces.
	RuleForeignNamespace = "foreign-namespace"
	// RuleCustomResource is the rule that custom resources have a grant, because the service account of an assignment has no rights for them.
	RuleCustomResource = "custom-resource"
)

// Rights are what the platform lets the manifests of a target change on clusters.
type Rights struct {
	// Known means that the platform's grants are known. Otherwise findings are warnings at most.
	Known bool
	// Namespaces are those that manifests may name: the namespaces of the target's assignments, and those of grants. Empty means
	// that they are not known, because the target has no assignments.
	Namespaces []string
	// Grants are the names of the grants for the target.
	Grants []string
	// ClusterWide means that one of the grants gives a role in the whole cluster.
	ClusterWide bool
}

// Outside returns the sorted findings about objects in files, path to content, that the given rights do not allow. What a granted role
// allows is known only to clusters, so objects that it may allow are information.
func (c *Checker) Outside(files map[string][]byte, rights Rights) []Finding {
	var findings []Finding
	for file, data := range files {
		if !isManifest(file) {
			continue
		}
		manifests, _ := parse(file, data)
		for _, m := range manifests {
			findings = append(findings, c.outside(m, rights)...)
		}
	}
	findings = c.leveled(findings)
	for i, f := range findings {
		findings[i] = rights.limit(f)
	}
	return c.except(sorted(findings))
}

// outside returns the findings of an object. Each has the level Inform if a grant may allow it.
func (c *Checker) outside(m *manifest, rights Rights) []Finding {
	namespaced, known := c.policy.Schemas.namespaced(m)
	switch {
	case known && !namespaced:
		return []Finding{rights.finding(m, RuleClusterScoped, fieldPath{"kind"}, rights.ClusterWide,
			fmt.Sprintf("%s has no namespace, so it would change the whole cluster", m.kind()),
			"remove it, or ask the platform team for a Grant of a role in the whole cluster")}
	case strings.HasPrefix(m.apiVersion(), "kustomize.config.k8s.io/"):
		return nil
	}
	var findings []Finding
	meta, _ := m.content["metadata"].(map[string]any)
	if namespace := text(meta, "namespace"); namespace != "" && len(rights.Namespaces) > 0 && !slices.Contains(rights.Namespaces, namespace) {
		findings = append(findings, rights.finding(m, RuleForeignNamespace, fieldPath{"metadata", "namespace"}, rights.ClusterWide,
			fmt.Sprintf("%q is not a namespace of the application; it has %s", namespace, strings.Join(shortList(rights.Namespaces), ", ")),
			"remove metadata.namespace, because reconcilers set it, or ask the platform team for a Grant for that namespace"))
	}
	if rights.Known && len(rights.Grants) == 0 && !builtInGroup(m) && m.group() != gatewayGroup {
		findings = append(findings, rights.finding(m, RuleCustomResource, fieldPath{"kind"}, false,
			fmt.Sprintf("%s of %s is a custom resource, for which the application's service account has no rights without a Grant", m.kind(), m.apiVersion()),
			"ask the platform team for a Grant of a role for it"))
	}
	return findings
}

// shortList returns at most three of the names.
func shortList(names []string) []string {
	if len(names) > 3 {
		return append(slices.Clone(names[:3]), fmt.Sprintf("%d more", len(names)-3))
	}
	return names
}

// finding returns a finding, with the level Inform if a grant may allow the object.
func (r Rights) finding(m *manifest, rule string, at fieldPath, granted bool, message, hint string) Finding {
	if granted {
		f := m.finding(rule, at, fmt.Sprintf("%s; Grant %s may allow it, which the cluster decides", message, strings.Join(r.Grants, ", ")), "")
		f.Level = Inform
		return f
	}
	return m.finding(rule, at, message, hint)
}

// limit lowers the level of a finding to what is known.
func (r Rights) limit(f Finding) Finding {
	if !r.Known && f.Level == Refuse {
		f.Level = Warn
		f.Hint = "the control plane may have a Grant, which is unknown here; name it with --control-plane"
	}
	return f
}

// clusterScoped are the kinds of Kubernetes without a namespace.
var clusterScoped = map[string][]string{
	"":                             {"Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
	"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
}

// gatewayGroup is the group of custom resources that the service accounts of the built-in templates may change.
const gatewayGroup = "gateway.networking.k8s.io"

// ClusterScoped reports whether a kind of Kubernetes has no namespace. Custom resources are not known.
func ClusterScoped(kind schema.GroupKind) bool {
	return slices.Contains(clusterScoped[kind.Group], kind.Kind)
}

// namespaced reports whether the objects of a kind have a namespace, and whether that is known.
func (s *Schemas) namespaced(m *manifest) (namespaced, known bool) {
	if scope, defined := s.scopes[m.apiVersion()+" "+m.kind()]; defined {
		return scope != "Cluster", true
	}
	return !ClusterScoped(schema.GroupKind{Group: m.group(), Kind: m.kind()}), builtInGroup(m)
}

// builtInGroup reports whether an object is of a group that every cluster serves.
func builtInGroup(m *manifest) bool {
	group := m.group()
	if _, listed := clusterScoped[group]; listed {
		return true
	}
	return !strings.Contains(group, ".") || slices.Contains([]string{"discovery.k8s.io", "coordination.k8s.io", "events.k8s.io"}, group)
}

// group returns the API group of an object; empty for the core group.
func (m *manifest) group() string {
	group, _, found := strings.Cut(m.apiVersion(), "/")
	if !found {
		return ""
	}
	return group
}
