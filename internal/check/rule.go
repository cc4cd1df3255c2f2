package check

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// Rule is a custom rule: a CEL expression (https://cel.dev) that must be true for an object.
//
//	object      the manifest
//	environment the name of the environment
//
// In CEL, accessing an absent field without has() is an error, which is a finding.
type Rule struct {
	Name string // required
	// Kinds restricts the rule to objects of these kinds: "Deployment". Default: all.
	Kinds []string
	// Expression is true for valid objects.
	Expression string // required
	// Message describes the violation. Default: that the expression is false.
	Message string
	// Hint tells how to fix it.
	Hint string
	// Level is the level of the rule's findings, unless the policy overrides it. Default: [Warn].
	Level Level
}

// Limits of an expression.
const (
	maxExpression = 4096
	maxCost       = 1_000_000 // per object, in CEL's cost units; takes some milliseconds
)

// compiledRule is a rule with its program, or the reason why it cannot be used.
type compiledRule struct {
	Rule
	program cel.Program
	broken  error
}

// compile compiles rules. A rule that cannot be compiled is kept with the reason.
func compile(rules []Rule) ([]compiledRule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("environment", cel.StringType), ext.Strings(), ext.Lists(), ext.Sets())
	if err != nil {
		return nil, err
	}
	var all []compiledRule
	for _, r := range rules {
		c := compiledRule{Rule: r}
		c.program, c.broken = program(env, r.Expression)
		all = append(all, c)
	}
	return all, nil
}

func program(env *cel.Env, expression string) (cel.Program, error) {
	if len(expression) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes; the maximum is %d", len(expression), maxExpression)
	}
	ast, issues := env.Compile(expression)
	for _, e := range issues.Errors() { // the first one is the most specific
		return nil, fmt.Errorf("column %d: %.300s", e.Location.Column()+1, e.Message)
	}
	if t := ast.OutputType(); t != cel.BoolType && t != cel.DynType {
		return nil, fmt.Errorf("the result of the expression is %s, must be a boolean", t)
	}
	return env.Program(ast, cel.CostLimit(maxCost))
}

// check evaluates the rule for an object.
func (r *compiledRule) check(m *manifest, environment string) []Finding {
	if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, m.kind()) {
		return nil
	}
	result, _, err := r.program.Eval(map[string]any{"object": m.content, "environment": environment})
	if err != nil {
		return []Finding{m.finding(r.Name, nil, fmt.Sprintf("the rule cannot be evaluated: %.300v", err), "test optional fields with has()")}
	}
	if result.Value() == true {
		return nil
	}
	message := r.Message
	if message == "" {
		message = fmt.Sprintf("%.200s is not true", r.Expression)
	}
	return []Finding{m.finding(r.Name, nil, message, r.Hint)}
}
