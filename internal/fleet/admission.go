package fleet

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	admission "k8s.io/api/admissionregistration/v1"
)

// AdmissionPolicy is a ValidatingAdmissionPolicy of the control plane, a rule for manifests.
// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
type AdmissionPolicy struct {
	Name string
	Spec admission.ValidatingAdmissionPolicySpec
	// Lines are those of the expressions in the policy's file.
	Lines AdmissionLines
	// ClusterOnly means that the policy needs what only a cluster knows, and is no rule here. A warning says so.
	ClusterOnly bool
	Origin
}

// AdmissionLines are the lines of expressions, in the order of the spec.
type AdmissionLines struct{ Variables, Conditions, Validations []int }

func (p *AdmissionPolicy) ref() Ref                    { return Ref{Kind: kindAdmission, Name: p.Name} }
func (p *AdmissionPolicy) labelled() map[string]string { return nil }

// decodeAdmissionPolicy checks everything but the expressions, which package check compiles.
func decodeAdmissionPolicy(d *decoder, root *yaml.Node) any {
	var object admission.ValidatingAdmissionPolicy
	d.into(root, &object)
	p := &AdmissionPolicy{Name: d.object.Name, Spec: object.Spec, Lines: AdmissionLines{
		Variables:   linesOf(root, "variables", "expression"),
		Conditions:  linesOf(root, "matchConditions", "expression"),
		Validations: linesOf(root, "validations", "expression"),
	}}
	d.require(root, "spec", "matchConstraints", "resourceRules")
	d.require(root, "spec", "validations")
	p.ClusterOnly = d.clusterOnly(root, &p.Spec)
	return p
}

// linesOf returns the line of a field in each element of a list of the spec.
func linesOf(root *yaml.Node, list, field string) []int {
	var lines []int
	if written := lookup(root, "spec", list); written != nil {
		for _, n := range written.Content {
			line := n.Line
			if value := child(n, field); value != nil {
				line = value.Line
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// clusterOnly warns of what only a cluster can evaluate, apart from expressions.
func (d *decoder) clusterOnly(root *yaml.Node, spec *admission.ValidatingAdmissionPolicySpec) bool {
	found := false
	warn := func(message string, keys ...string) {
		found = true
		d.warn(KindUnusedPolicy, lookup(root, append([]string{"spec"}, keys...)...), "write the rule without it in a CheckPolicy, or list the file in .kalypsoignore",
			"%s %s; the policy is left to the cluster", d.field(append([]string{"spec"}, keys...)...), message)
	}
	if spec.ParamKind != nil {
		warn("names parameters, which are objects of a cluster", "paramKind")
	}
	match := spec.MatchConstraints
	if match == nil {
		return found
	}
	if s := match.NamespaceSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		warn("selects by labels of namespaces, which only a cluster knows", "matchConstraints", "namespaceSelector")
	}
	applies := false
	for _, r := range match.ResourceRules {
		created := slices.Contains(r.Operations, admission.Create) || slices.Contains(r.Operations, admission.OperationAll)
		objects := slices.ContainsFunc(r.Resources, func(name string) bool { return name == "*/*" || !strings.Contains(name, "/") })
		applies = applies || created && objects
	}
	scoped := func(r admission.NamedRuleWithOperations) bool {
		return r.Scope != nil && *r.Scope != admission.AllScopes
	}
	if slices.ContainsFunc(match.ResourceRules, scoped) {
		warn("have a scope, which only a cluster knows", "matchConstraints", "resourceRules")
	}
	if slices.ContainsFunc(match.ExcludeResourceRules, scoped) {
		warn("have a scope, which only a cluster knows", "matchConstraints", "excludeResourceRules")
	}
	if !applies && len(match.ResourceRules) > 0 {
		warn("do not match the creation of an object", "matchConstraints", "resourceRules")
	}
	return found
}
