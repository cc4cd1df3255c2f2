package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Admission is the part of a rule that only a ValidatingAdmissionPolicy has. Its expressions see a manifest as a cluster sees an object
// that is created: oldObject is null, and request has the fields in requestFields.
type Admission struct {
	Match      admission.MatchResources
	Conditions []Variable
	// Validations must be true.
	Validations []admission.Validation
	// IgnoreErrors ignores expressions that cannot be evaluated.
	IgnoreErrors bool
}

// requestFields are the fields of a request that follow from a manifest.
var requestFields = []string{"name", "namespace", "operation", "kind", "resource", "requestKind", "requestResource", "dryRun", "subResource", "requestSubResource"}

// clusterVariables are the variables that only a cluster has.
var clusterVariables = []string{"params", "authorizer", "namespaceObject"}

// clusterOnlyError is the error of an expression that needs what only a cluster knows.
type clusterOnlyError struct{ what string }

func (e clusterOnlyError) Error() string { return "uses " + e.what + ", which only a cluster knows" }

// admissionEnvironment returns the language of ValidatingAdmissionPolicies. It declares what only a cluster has, so that using it is an
// error of its own.
var admissionEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	options := []cel.EnvOption{cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType)}
	for _, name := range clusterVariables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return env.Extend(options...)
})

// needsCluster returns what an expression uses that only a cluster knows; empty for nothing.
func needsCluster(env *cel.Env, expression string) string {
	if len(expression) > maxExpression {
		return "" // compiling it fails
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return "" // compiling it fails, too
	}
	what := ""
	celast.MatchDescendants(celast.NavigateAST(parsed.NativeRep()), func(e celast.NavigableExpr) bool {
		switch {
		case e.Kind() != celast.IdentKind || what != "":
		case slices.Contains(clusterVariables, e.AsIdent()):
			what = e.AsIdent()
		case e.AsIdent() == "request":
			what = "request"
			if parent, ok := e.Parent(); ok && parent.Kind() == celast.SelectKind {
				if what += "." + parent.AsSelect().FieldName(); slices.Contains(requestFields, parent.AsSelect().FieldName()) {
					what = ""
				}
			}
		}
		return false
	})
	return what
}

// requestOf returns the request that would create an object.
func requestOf(m *manifest) map[string]any {
	metadata, _ := m.content["metadata"].(map[string]any)
	kind, resource := m.resource()
	k := map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}
	r := map[string]any{"group": resource.Group, "version": resource.Version, "resource": resource.Resource}
	return map[string]any{
		"name": text(metadata, "name"), "namespace": text(metadata, "namespace"), "operation": string(admission.Create),
		"kind": k, "requestKind": k, "resource": r, "requestResource": r, "dryRun": false, "subResource": "", "requestSubResource": "",
	}
}

// resource returns the kind of an object, and the name under which an API server serves it.
func (m *manifest) resource() (schema.GroupVersionKind, schema.GroupVersionResource) {
	kind := schema.FromAPIVersionAndKind(m.apiVersion(), m.kind())
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return kind, plural
}

// matches reports whether the policy is about an object.
func (a *Admission) matches(m *manifest) bool {
	about := func(rules []admission.NamedRuleWithOperations) bool {
		return slices.ContainsFunc(rules, func(r admission.NamedRuleWithOperations) bool { return ruleMatches(&r, m) })
	}
	if !about(a.Match.ResourceRules) || about(a.Match.ExcludeResourceRules) {
		return false
	}
	if a.Match.ObjectSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(a.Match.ObjectSelector)
	return err == nil && selector.Matches(labels.Set(labelsOf(m)))
}

// ruleMatches reports whether a rule is about the creation of an object.
func ruleMatches(r *admission.NamedRuleWithOperations, m *manifest) bool {
	_, resource := m.resource()
	metadata, _ := m.content["metadata"].(map[string]any)
	has := func(list []string, names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) })
	}
	return has(r.APIGroups, "*", resource.Group) && has(r.APIVersions, "*", resource.Version) &&
		has(r.Resources, "*", "*/*", resource.Resource) &&
		(slices.Contains(r.Operations, admission.Create) || slices.Contains(r.Operations, admission.OperationAll)) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, text(metadata, "name")))
}

func labelsOf(m *manifest) map[string]string {
	metadata, _ := m.content["metadata"].(map[string]any)
	written, _ := metadata["labels"].(map[string]any)
	labels := make(map[string]string, len(written))
	for key := range written {
		labels[key] = text(written, key)
	}
	return labels
}

// compileAdmission compiles the conditions and validations of a ValidatingAdmissionPolicy.
func (r *compiledRule) compileAdmission(env *cel.Env) error {
	if s := r.Admission.Match.ObjectSelector; s != nil {
		if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
			return fmt.Errorf("its objectSelector: %w", err)
		}
	}
	for i, c := range r.Admission.Conditions {
		r.at, r.atNo = "conditions", i
		program, err := programOf(env, c.Expression, cel.BoolType, "a boolean")
		if err != nil {
			return fmt.Errorf("the condition %q: %w", c.Name, err)
		}
		r.conditions = append(r.conditions, program)
	}
	for i, v := range r.Admission.Validations {
		r.at, r.atNo = "validations", i
		message := strings.TrimSpace(v.Message)
		if v.Reason != nil && message != "" {
			message = fmt.Sprintf("%s (%s)", message, *v.Reason)
		}
		if err := r.add(env, v.Expression, message, v.MessageExpression); err != nil {
			return err
		}
	}
	return nil
}

// admissionRule returns the rule of a policy.
func admissionRule(p *fleet.AdmissionPolicy) Rule {
	a := &Admission{Validations: p.Spec.Validations, IgnoreErrors: p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == admission.Ignore}
	if p.Spec.MatchConstraints != nil {
		a.Match = *p.Spec.MatchConstraints
	}
	for _, c := range p.Spec.MatchConditions {
		a.Conditions = append(a.Conditions, Variable{c.Name, c.Expression})
	}
	r := Rule{Name: p.Name, Admission: a}
	for _, v := range p.Spec.Variables {
		r.Variables = append(r.Variables, Variable{v.Name, v.Expression})
	}
	return r
}

// clusterOnly returns what the expressions of a policy need that only a cluster knows, with the line of the first one. A nil error means
// that they need nothing.
func clusterOnly(p *fleet.AdmissionPolicy) (line int, err error) {
	env, err := admissionEnvironment()
	if err != nil {
		return 0, err
	}
	look := func(list string, i int, expressions ...string) bool {
		for _, expression := range expressions {
			if what := needsCluster(env, expression); what != "" {
				line, err = expressionLine(p, list, i), clusterOnlyError{what}
				return true
			}
		}
		return false
	}
	for i, v := range p.Spec.Variables {
		if look("variables", i, v.Expression) {
			return line, err
		}
	}
	for i, c := range p.Spec.MatchConditions {
		if look("conditions", i, c.Expression) {
			return line, err
		}
	}
	for i, v := range p.Spec.Validations {
		if look("validations", i, v.Expression, v.MessageExpression) {
			return line, err
		}
	}
	return 0, nil
}

// expressionLine returns the line of an expression.
func expressionLine(p *fleet.AdmissionPolicy, list string, i int) int {
	lines := map[string][]int{"variables": p.Lines.Variables, "conditions": p.Lines.Conditions, "validations": p.Lines.Validations}[list]
	if i < len(lines) {
		return lines[i]
	}
	return p.Position.Line
}

// admissionRules returns the rules of the ValidatingAdmissionPolicies whose names are free, and the problems of the others. A policy that
// needs a cluster is left to it, with a warning.
func admissionRules(s *fleet.Snapshot, taken func(name string) bool) ([]Rule, []fleet.Problem) {
	var rules []Rule
	var problems []fleet.Problem
	for _, p := range s.AdmissionPolicies {
		problem := fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindInvalidValue, Object: fleet.Ref{Kind: "ValidatingAdmissionPolicy", Name: p.Name}, Position: p.Position,
		}
		line, err := clusterOnly(p)
		var needs clusterOnlyError
		switch {
		case p.ClusterOnly: // package fleet warns
			continue
		case taken(p.Name):
			problem.Message, problem.Hint = "has the name of a rule or a scan, and is not used", "give it a unique name"
		case errors.As(err, &needs):
			problem.Severity, problem.Kind, problem.Position.Line = fleet.SeverityWarning, fleet.KindUnusedPolicy, line
			problem.Message = needs.Error() + "; the policy is left to the cluster"
			problem.Hint = "write the rule without it in a CheckPolicy, or list the file in .kalypsoignore"
		default:
			rule := admissionRule(p)
			rules = append(rules, rule)
			compiled, err := compile([]Rule{rule})
			if err == nil && compiled[0].broken == nil {
				continue
			}
			if err == nil {
				err = compiled[0].broken
				problem.Position.Line = expressionLine(p, compiled[0].at, compiled[0].atNo)
			}
			problem.Message, problem.Hint = fmt.Sprintf("cannot be used: %v", err), "correct its expressions; until then nothing passes"
		}
		problems = append(problems, problem)
	}
	return rules, problems
}
