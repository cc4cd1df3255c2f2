package check

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	kubecel "k8s.io/apiserver/pkg/cel/library"
)

// Rule is a custom rule: a CEL expression (https://cel.dev) that must be true for an object.
//
//	object      the manifest
//	environment the name of the environment
//	variables   the rule's Variables
//
// The language is that of validations in Kubernetes: with optionals, macros with two variables, and its libraries. In CEL, accessing an absent field without has() is an error, which is a finding.
type Rule struct {
	Name string // required
	// Kinds restricts the rule to objects of these kinds: "Deployment", "apps/Deployment" or "apps/v1/Deployment",
	// in any case; "*" is every kind. Default: all.
	Kinds []string
	// Variables are expressions with names. A later one can use earlier ones. They are evaluated when they are used.
	Variables []Variable
	// Expression is true for valid objects.
	Expression string // required
	// Message describes the violation. Default: that the expression is false.
	Message string
	// MessageExpression is a text that replaces Message. It is evaluated for objects that violate the rule.
	MessageExpression string
	// Hint tells how to fix it.
	Hint string
	// Level is the level of the rule's findings, unless the policy overrides it. Default: [Warn].
	Level Level
}

// Variable is an expression that others refer to as variables.Name.
type Variable struct{ Name, Expression string }

// Limits of an expression.
const (
	maxExpression = 4096
	maxCost       = 1_000_000 // per object, in CEL's cost units; takes some milliseconds
)

// compiledRule is a rule with its program, or the reason why it cannot be used.
type compiledRule struct {
	Rule
	program   cel.Program
	message   cel.Program // of MessageExpression; nil without one
	variables []namedProgram
	broken    error
}

type namedProgram struct {
	name    string
	program cel.Program
}

// compile compiles rules. A rule that cannot be compiled is kept with the reason.
func compile(rules []Rule) ([]compiledRule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	var all []compiledRule
	for _, r := range rules {
		c := compiledRule{Rule: r}
		if c.broken = c.compile(env); c.broken == nil {
			c.broken = checkKinds(r.Kinds)
		}
		all = append(all, c)
	}
	return all, nil
}

// environment returns the language of Kubernetes, without what needs a cluster: authorizer, request and namespaceObject.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("object", cel.DynType), cel.Variable("environment", cel.StringType),
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		ext.Strings(), ext.Sets(), ext.TwoVarComprehensions(), ext.Lists(ext.ListsVersion(3)),
		kubecel.Lists(kubecel.ListsVersion(1)), kubecel.URLs(), kubecel.Regex(), kubecel.Quantity(), kubecel.IP(), kubecel.CIDR(),
		kubecel.Format(), kubecel.SemverLib(kubecel.SemverVersion(1)),
	)
})

// variableName is what can follow "variables." in an expression.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// compile compiles the expressions of a rule.
func (r *compiledRule) compile(env *cel.Env) (err error) {
	for _, v := range r.Variables {
		if !variableName.MatchString(v.Name) {
			return fmt.Errorf("the variable %.100q has no valid name", v.Name)
		}
		named := namedProgram{name: "variables." + v.Name}
		if slices.ContainsFunc(r.variables, func(other namedProgram) bool { return other.name == named.name }) {
			return fmt.Errorf("the variable %q is there twice", v.Name)
		}
		var result *cel.Type
		if named.program, result, err = program(env, v.Expression); err != nil {
			return fmt.Errorf("the variable %q: %w", v.Name, err)
		}
		r.variables = append(r.variables, named)
		if env, err = env.Extend(cel.Variable(named.name, result)); err != nil {
			return fmt.Errorf("the variable %q: %w", v.Name, err)
		}
	}
	if r.program, err = programOf(env, r.Expression, cel.BoolType, "a boolean"); err != nil {
		return err
	}
	if r.MessageExpression != "" {
		if r.message, err = programOf(env, r.MessageExpression, cel.StringType, "a string"); err != nil {
			return fmt.Errorf("its messageExpression: %w", err)
		}
	}
	return nil
}

// rightKind matches a kind, with or without its group and version.
var rightKind = regexp.MustCompile(`^(?:\*|(?:[a-z0-9.-]+/){0,2}(?:\*|[A-Za-z][A-Za-z0-9]*))$`)

// checkKinds returns an error for a kind that matches nothing, because a rule for it would never say anything.
func checkKinds(kinds []string) error {
	for _, wanted := range kinds {
		if !rightKind.MatchString(wanted) {
			return fmt.Errorf("the kind %.100q matches nothing; write a kind, Deployment, or with its group and version, apps/v1/Deployment", wanted)
		}
		name := strings.ToLower(path.Base(wanted))
		for kind := range podPaths {
			_, kind, _ = strings.Cut(kind, " ")
			if name == strings.ToLower(kind)+"s" {
				return fmt.Errorf("the kind %.100q matches nothing; did you mean %q?", wanted, kind)
			}
		}
	}
	return nil
}

// isA reports whether an object has a kind, as a rule writes it.
func (m *manifest) isA(wanted string) bool {
	parts := strings.Split(wanted, "/")
	kind := parts[len(parts)-1]
	if kind != "*" && !strings.EqualFold(kind, m.kind()) {
		return false
	}
	group, version, grouped := strings.Cut(m.apiVersion(), "/")
	if !grouped {
		group, version = "", group
	}
	switch len(parts) {
	case 2: // a group, or the version of the core group
		return strings.EqualFold(parts[0], group) || group == "" && parts[0] == version
	case 3:
		return strings.EqualFold(parts[0], group) && parts[1] == version
	}
	return true
}

// programOf compiles an expression with a result of a type.
func programOf(env *cel.Env, expression string, wanted *cel.Type, name string) (cel.Program, error) {
	compiled, result, err := program(env, expression)
	if err == nil && result != wanted && result != cel.DynType {
		err = fmt.Errorf("the result of the expression is %s, must be %s", result, name)
	}
	return compiled, err
}

func program(env *cel.Env, expression string) (compiled cel.Program, result *cel.Type, err error) {
	if len(expression) > maxExpression {
		return nil, nil, fmt.Errorf("the expression has %d bytes; the maximum is %d", len(expression), maxExpression)
	}
	ast, issues := env.Compile(expression)
	for _, e := range issues.Errors() { // the first one is the most specific
		return nil, nil, fmt.Errorf("column %d: %.300s", e.Location.Column()+1, e.Message)
	}
	compiled, err = env.Program(ast, cel.CostLimit(maxCost), cel.CostTracking(&kubecel.CostEstimator{}))
	return compiled, ast.OutputType(), err
}

// check evaluates the rule for an object.
func (r *compiledRule) check(m *manifest, environment string) []Finding {
	if len(r.Kinds) > 0 && !slices.ContainsFunc(r.Kinds, m.isA) {
		return nil
	}
	input := r.input(m, environment)
	result, _, err := r.program.Eval(input)
	if err != nil {
		return []Finding{m.finding(r.Name, nil, fmt.Sprintf("the rule cannot be evaluated: %.300v", err), "test optional fields with has()")}
	}
	if result.Value() == true {
		return nil
	}
	return []Finding{m.finding(r.Name, nil, r.describe(input), r.Hint)}
}

// describe returns the message for an object. As in Kubernetes, one that cannot be evaluated, is empty or has several lines is not used.
func (r *compiledRule) describe(input map[string]any) string {
	if r.message != nil {
		if result, _, err := r.message.Eval(input); err == nil {
			text, _ := result.Value().(string)
			if text = strings.TrimSpace(text); text != "" && !strings.ContainsAny(text, "\r\n") {
				return fmt.Sprintf("%.1000s", text)
			}
		}
	}
	return cmp.Or(r.Message, fmt.Sprintf("%.200s is not true", r.Expression))
}

// input returns what expressions can refer to. A variable is evaluated once, when it is used.
func (r *compiledRule) input(m *manifest, environment string) map[string]any {
	input := map[string]any{"object": m.content, "environment": environment}
	for _, v := range r.variables {
		input[v.name] = func() ref.Val {
			result, _, err := v.program.Eval(input)
			if err != nil {
				return types.WrapErr(err)
			}
			return result
		}
	}
	return input
}
