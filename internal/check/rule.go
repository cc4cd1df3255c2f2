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

	"github.com/kalypso-io/kalypso/internal/fleet"
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
	// Admission is set for a rule that is a ValidatingAdmissionPolicy, which has no Kinds and no Expression.
	Admission *Admission
}

// Variable is an expression that others refer to as variables.Name.
type Variable struct{ Name, Expression string }

// Limits of an expression.
const (
	maxExpression = 16384
	maxCost       = fleet.MaxFormulaCost // per object, in CEL's cost units; takes some milliseconds
)

// compiledRule is a rule with its programs, or the reason why it cannot be used.
type compiledRule struct {
	Rule
	variables  []namedProgram
	conditions []cel.Program // of Admission
	assertions []assertion
	broken     error
	// at is the part that was compiled last: "variables", "conditions" or "validations", with its index.
	at   string
	atNo int
}

// assertion is an expression that must be true.
type assertion struct {
	expression, text string
	program          cel.Program
	message          cel.Program // replaces text; nil without one
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

// hasVariable matches has(variables.NAME), which Kubernetes allows.
var hasVariable = regexp.MustCompile(`\bhas\(\s*variables\s*\.`)

// compile compiles the expressions of a rule.
func (r *compiledRule) compile(env *cel.Env) (err error) {
	if r.Admission != nil {
		if env, err = admissionEnvironment(); err != nil {
			return err
		}
	}
	for i, v := range r.Variables {
		r.at, r.atNo = "variables", i
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
	if r.Admission != nil {
		return r.compileAdmission(env)
	}
	return r.add(env, r.Expression, r.Message, r.MessageExpression)
}

// add compiles an assertion.
func (r *compiledRule) add(env *cel.Env, expression, text, messageExpression string) (err error) {
	v := assertion{expression: expression, text: text}
	if v.program, err = programOf(env, expression, cel.BoolType, "a boolean"); err != nil {
		return err
	}
	if messageExpression != "" {
		if v.message, err = programOf(env, messageExpression, cel.StringType, "a string"); err != nil {
			return fmt.Errorf("its messageExpression: %w", err)
		}
	}
	r.assertions = append(r.assertions, v)
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
	if hasVariable.MatchString(expression) {
		// has() looks into a map. Declaring it hides misspelled variables, so it is declared for these expressions only.
		if env, err = env.Extend(cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType))); err != nil {
			return nil, nil, err
		}
	}
	ast, issues := env.Compile(expression)
	for _, e := range issues.Errors() { // the first one is the most specific
		return nil, nil, fmt.Errorf("column %d: %.300s", e.Location.Column()+1, e.Message)
	}
	compiled, err = env.Program(ast, append(fleet.ExpressionLimits(env), fleet.ExpressionCost(maxCost)...)...)
	return compiled, ast.OutputType(), err
}

// check evaluates the rule for an object.
func (r *compiledRule) check(m *manifest, environment string) []Finding {
	if len(r.Kinds) > 0 && !slices.ContainsFunc(r.Kinds, m.isA) || r.Admission != nil && !r.Admission.matches(m) {
		return nil
	}
	input := r.input(m, environment)
	failed := func(err error) []Finding {
		if r.Admission != nil && r.Admission.IgnoreErrors {
			return nil
		}
		return []Finding{m.finding(r.Name, nil, fmt.Sprintf("the rule cannot be evaluated: %.300v", err), "test optional fields with has()")}
	}
	if applies, err := all(r.conditions, input); err != nil || !applies {
		if err != nil {
			return failed(err)
		}
		return nil
	}
	var findings []Finding
	for _, v := range r.assertions {
		result, _, err := v.program.Eval(input)
		switch {
		case err != nil:
			findings = append(findings, failed(err)...)
		case result.Value() != true:
			findings = append(findings, m.finding(r.Name, nil, v.describe(input), r.Hint))
		}
	}
	return findings
}

// all reports whether all conditions are true. One that is false counts more than one that cannot be evaluated, as in Kubernetes.
func all(conditions []cel.Program, input map[string]any) (bool, error) {
	var failed error
	for _, c := range conditions {
		result, _, err := c.Eval(input)
		switch {
		case err != nil:
			failed = cmp.Or(failed, err)
		case result.Value() != true:
			return false, nil
		}
	}
	return failed == nil, failed
}

// describe returns the message for an object. As in Kubernetes, one that cannot be evaluated, is empty or has several lines is not used.
func (v *assertion) describe(input map[string]any) string {
	if v.message != nil {
		if result, _, err := v.message.Eval(input); err == nil {
			text, _ := result.Value().(string)
			if text = strings.TrimSpace(text); text != "" && !strings.ContainsAny(text, "\r\n") {
				return fmt.Sprintf("%.1000s", text)
			}
		}
	}
	return cmp.Or(v.text, fmt.Sprintf("%.200s is not true", v.expression))
}

// input returns what expressions can refer to. A variable is evaluated once, when it is used.
func (r *compiledRule) input(m *manifest, environment string) map[string]any {
	input := map[string]any{"object": m.content, "environment": environment}
	if r.Admission != nil {
		input["oldObject"], input["request"] = nil, requestOf(m)
	}
	declared := map[string]any{} // all that has() looks at
	input["variables"] = declared
	for _, v := range r.variables {
		declared[strings.TrimPrefix(v.name, "variables.")] = true
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
