package check

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// Rule is a rule of a team's own: an expression in CEL (https://cel.dev) that has to be true of an object.
//
//	object      the manifest, as it is written
//	environment the name of the environment
//
// A field that is not there is an error in CEL unless it is asked for with has(); such an error is a finding.
type Rule struct {
	Name string // required
	// Kinds are those of the objects that it is about: "Deployment". None: all.
	Kinds []string
	// Expression is true of objects as they should be.
	Expression string // required
	// Message says what is wrong with the others. Default: that the expression is not true.
	Message string
	// Hint says what to do about it.
	Hint string
	// Level is that of its findings, unless the policy says otherwise. Default: [Warn].
	Level Level
}

// Bounds of an expression.
const (
	maxExpression = 4096
	// maxCost is what evaluating one on one object may cost, in CEL's own units: some milliseconds.
	maxCost = 1_000_000
)

// compiledRule is a rule that is ready to be asked.
type compiledRule struct {
	Rule
	program cel.Program
	// broken says why it cannot be asked.
	broken error
}

// compile prepares rules. One that cannot be used is kept with the reason.
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
		return nil, fmt.Errorf("the expression has %d bytes, want at most %d", len(expression), maxExpression)
	}
	ast, issues := env.Compile(expression)
	for _, e := range issues.Errors() { // the first says most
		return nil, fmt.Errorf("column %d: %.300s", e.Location.Column()+1, e.Message)
	}
	if t := ast.OutputType(); t != cel.BoolType && t != cel.DynType {
		return nil, fmt.Errorf("the expression gives %s, want true or false", t)
	}
	return env.Program(ast, cel.CostLimit(maxCost))
}

// check asks the rule about an object.
func (r *compiledRule) check(m *manifest, environment string) []Finding {
	if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, m.kind()) {
		return nil
	}
	result, _, err := r.program.Eval(map[string]any{"object": m.content, "environment": environment})
	if err != nil {
		return []Finding{m.finding(r.Name, nil, fmt.Sprintf("the rule cannot be evaluated: %.300v", err), "ask for fields that may be missing with has()")}
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
