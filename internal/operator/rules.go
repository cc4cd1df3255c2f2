package operator

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// TenantRules are the rights that the operator needs in a namespace with ControlPlanes.
func TenantRules() []rbacv1.PolicyRule {
	own := v1alpha1.GroupVersion.Group
	var documents, foreign []string
	for _, kind := range documentKinds() {
		if kind.isConfigMap() {
			foreign = append(foreign, kind.resource)
		} else {
			documents = append(documents, kind.resource)
		}
	}
	slices.Sort(documents)
	var statuses []string
	for _, resource := range documents {
		statuses = append(statuses, resource+"/status")
	}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{own}, Resources: []string{"controlplanes"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{own}, Resources: []string{"controlplanes/status"}, Verbs: []string{"patch"}},
		// One Secret at a time, when a round needs it. They cannot be listed or watched.
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		{APIGroups: []string{own}, Resources: documents, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{own}, Resources: statuses, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: foreign, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{own}, Resources: []string{"assignments"}, Verbs: []string{"create", "delete", "list", "update"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}

// ClusterRules are the rights that the operator needs for kinds without a namespace.
func ClusterRules() []rbacv1.PolicyRule {
	var definitions []string
	for _, kind := range documentKinds() {
		if !kind.isConfigMap() {
			definitions = append(definitions, kind.definition())
		}
	}
	slices.Sort(definitions)
	// Objects are not read while their definition or their namespace is being deleted.
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: definitions, Verbs: []string{"get"}},
		// The last rule: the chart adds the names of namespaces to it.
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	}
}

// LeaseRules are the rights that the operator needs in its own namespace, for the Lease.
func LeaseRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{leaseName}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}
