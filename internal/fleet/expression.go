package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	kubecel "k8s.io/apiserver/pkg/cel/library"
)

// Limits of expressions. The cost is estimated before an expression is used, for the largest facts, so that evaluating
// it needs no limit.
const (
	maxExpression = 4096 // bytes
	// MaxExpressionCost is how much one evaluation may cost, in units of CEL.
	MaxExpressionCost = 1_000_000
	// MaxFormulaCost is how much the formulas of one configuration, or a rule for one object, may cost. Others write them, and CEL's count of the
	// cost itself takes time that grows with the square of it.
	MaxFormulaCost = 100_000

	maxFacts    = 256  // labels, features or resources
	maxFactSize = 1024 // bytes of one of their names and values
)

// Expression is a CEL expression (https://cel.dev) about a pair of a target and a cluster type, with the libraries of
// Kubernetes for lists, regular expressions and semantic versions. It is immutable and safe for concurrent use.
//
//	target       name, shortName, workload, workspace, labels, requests
//	clusterType  name, labels, features, capacity
//	environment  the name of the environment
//
// Labels and features are maps of strings; requests and capacity are maps of numbers, cpu in cores, memory in bytes.
type Expression struct {
	text    string
	program cel.Program
	// Target and ClusterType report which half of the pair the result depends on.
	Target, ClusterType bool
}

// String returns the expression as written.
func (e *Expression) String() string { return e.text }

// Variables of expressions, by their names.
var variables = map[string]*cel.Type{
	"environment": cel.StringType,
	"target.name": cel.StringType, "target.shortName": cel.StringType, "target.workload": cel.StringType, "target.workspace": cel.StringType,
	"target.labels": cel.MapType(cel.StringType, cel.StringType), "target.requests": cel.MapType(cel.StringType, cel.DoubleType),
	"clusterType.name":     cel.StringType,
	"clusterType.labels":   cel.MapType(cel.StringType, cel.StringType),
	"clusterType.features": cel.MapType(cel.StringType, cel.StringType),
	"clusterType.capacity": cel.MapType(cel.StringType, cel.DoubleType),
}

// FactTypes returns the types of the variables for facts, by their names.
func FactTypes() map[string]*cel.Type { return maps.Clone(variables) }

// Value returns the value of a variable. The error explains why facts cannot be used.
func (f *Facts) Value(name string) (v ref.Val, ok bool, err error) {
	v, ok = f.values[name]
	return v, ok, f.err
}

var expressionEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	options := ExpressionLanguage()
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		options = append(options, cel.Variable(name, variables[name]))
	}
	return cel.NewEnv(options...)
})

// ExpressionLanguage returns the language of expressions, without variables: CEL with the libraries of Kubernetes for lists,
// regular expressions and semantic versions.
func ExpressionLanguage() []cel.EnvOption {
	return []cel.EnvOption{
		orderedRanges(), cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		ext.Strings(), ext.Sets(), ext.Math(), ext.TwoVarComprehensions(), ext.Lists(ext.ListsVersion(3)),
		kubecel.Lists(kubecel.ListsVersion(1)), kubecel.Regex(), kubecel.SemverLib(kubecel.SemverVersion(1)),
	}
}

// CheckExpression parses an expression whose result has one of the given types, or any without them, within the limits of expressions except for
// their cost. Errors name the line and column.
func CheckExpression(env *cel.Env, text string, results ...*cel.Type) (*cel.Ast, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("it has %d bytes; the maximum is %d", len(text), maxExpression)
	}
	ast, issues := env.Compile(text)
	for _, e := range issues.Errors() { // the first one is the most specific
		return nil, fmt.Errorf("line %d, column %d: %.300s", e.Location.Line(), e.Location.Column()+1, strings.TrimSuffix(e.Message, " (in container '')"))
	}
	if result := ast.OutputType(); len(results) > 0 && !slices.ContainsFunc(results, func(t *cel.Type) bool { return t.IsExactType(result) }) {
		return nil, fmt.Errorf("the result is %s, want %s", result, alternatives(results))
	}
	if patternOfData(ast) {
		return nil, fmt.Errorf("the pattern of a regular expression must be a text, because it is compiled for each evaluation otherwise")
	}
	return ast, nil
}

// compiled keeps expressions, which rounds compile again and again.
var compiled = sync.OnceValues(func() (*lru.Cache[string, *Expression], error) { return lru.New[string, *Expression](1024) })

// compileExpression compiles an expression whose result has one of the given types. Errors name the column.
func compileExpression(text string, results ...*cel.Type) (*Expression, error) {
	cache, err := compiled()
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(results, text)
	if e, ok := cache.Get(key); ok {
		return e, nil
	}
	env, err := expressionEnvironment()
	if err != nil {
		return nil, err
	}
	ast, err := CheckExpression(env, text, results...)
	if err != nil {
		return nil, err
	}
	cost, err := env.EstimateCost(ast, &kubecel.CostEstimator{SizeEstimator: factSizes{}}, flattenEstimates()...)
	if err != nil {
		return nil, err
	}
	if cost.Max > MaxExpressionCost {
		return nil, fmt.Errorf("it may take too long: its estimated cost is %d, the maximum is %d", cost.Max, MaxExpressionCost)
	}
	e := &Expression{text: text}
	if e.program, err = ExpressionProgram(env, ast, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, err
	}
	e.readVariables(ast)
	cache.Add(key, e)
	return e, nil
}

func alternatives(list []*cel.Type) string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.String()
	}
	return strings.Join(names, " or ")
}

// patternOfData reports whether a regular expression depends on data.
func patternOfData(ast *cel.Ast) bool {
	found := false
	celast.PostOrderVisit(ast.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if x.Kind() != celast.CallKind {
			return
		}
		call := x.AsCall()
		if !slices.Contains([]string{"matches", "find", "findAll"}, call.FunctionName()) {
			return
		}
		args := call.Args()
		if !call.IsMemberFunction() {
			args = args[1:]
		}
		found = found || len(args) == 0 || args[0].Kind() != celast.LiteralKind
	}))
	return found
}

func (e *Expression) readVariables(ast *cel.Ast) {
	celast.PostOrderVisit(ast.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if x.Kind() == celast.IdentKind {
			of, _, _ := strings.Cut(x.AsIdent(), ".")
			e.Target, e.ClusterType = e.Target || of == "target", e.ClusterType || of == "clusterType"
		}
	}))
}

// factSizes bounds the sizes of variables for the estimate of the cost.
type factSizes struct{}

func (factSizes) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	switch n.Type().Kind() {
	case types.MapKind:
		return &checker.SizeEstimate{Max: maxFacts}
	case types.StringKind:
		return &checker.SizeEstimate{Max: maxFactSize}
	}
	return nil
}

func (factSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// Facts are what expressions can see of a target or of a cluster type, prepared for many evaluations.
type Facts struct {
	values map[string]ref.Val
	err    error
}

// Facts returns what expressions can see of the target.
func (t *Target) Facts() *Facts {
	f := &Facts{values: map[string]ref.Val{
		"target.name": types.String(t.Name), "target.shortName": types.String(t.ShortName),
		"target.workload": types.String(t.Workload), "target.workspace": types.String(t.Workspace),
		"target.labels": textMap(t.Labels), "target.requests": numberMap(t.Requests),
	}}
	f.err = checkFacts("the labels of the target", t.Labels)
	return f
}

// Facts returns what expressions can see of the cluster type.
func (ct *ClusterType) Facts() *Facts {
	f := &Facts{values: map[string]ref.Val{
		"clusterType.name": types.String(ct.Name), "clusterType.labels": textMap(ct.Labels),
		"clusterType.features": textMap(ct.Features), "clusterType.capacity": numberMap(ct.Capacity),
	}}
	f.err = checkFacts("the labels of the cluster type", ct.Labels)
	return f
}

// checkFacts reports facts that are larger than the estimate of the cost assumes. Applications write the labels of targets.
func checkFacts(what string, facts map[string]string) error {
	if len(facts) > maxFacts {
		return fmt.Errorf("%s are too many for an expression: %d, the maximum is %d", what, len(facts), maxFacts)
	}
	for key, value := range facts {
		if len(key) > maxFactSize || len(value) > maxFactSize {
			return fmt.Errorf("%s are too long for an expression: %s has %d bytes, the maximum is %d", what, quoteShort(key), len(value), maxFactSize)
		}
	}
	return nil
}

func textMap(m map[string]string) ref.Val {
	if m == nil {
		m = map[string]string{}
	}
	return types.NewStringStringMap(types.DefaultTypeAdapter, m)
}

func numberMap(quantities map[string]resource.Quantity) ref.Val {
	values := make(map[string]float64, len(quantities))
	for name, q := range quantities {
		values[name] = q.AsApproximateFloat64()
	}
	return types.NewDynamicMap(types.DefaultTypeAdapter, values)
}

// activation resolves the variables of one evaluation.
type activation struct {
	environment         types.String
	target, clusterType *Facts
}

func (a *activation) ResolveName(name string) (any, bool) {
	if name == "environment" {
		return a.environment, true
	}
	for _, f := range []*Facts{a.target, a.clusterType} {
		if v, ok := f.values[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (a *activation) Parent() interpreter.Activation { return nil }

// missingKey is how messages of CEL begin for a label, feature or resource that does not exist.
const missingKey = "no such key: "

func (e *Expression) evaluate(environment string, t, ct *Facts) (ref.Val, error) {
	for _, f := range []*Facts{t, ct} {
		if f.err != nil {
			return nil, f.err
		}
	}
	result, _, err := e.program.Eval(&activation{types.String(environment), t, ct})
	return result, err
}

// Holds evaluates an expression whose result is true or false. A label, feature or resource that does not exist makes it
// false; missing names it then.
func (e *Expression) Holds(environment string, t, ct *Facts) (holds bool, missing string, err error) {
	result, err := e.evaluate(environment, t, ct)
	if err != nil {
		if key, ok := strings.CutPrefix(err.Error(), missingKey); ok {
			return false, key, nil
		}
		return false, "", err
	}
	return result == types.True, "", nil
}

// Percent evaluates an expression whose result is true or false, 100 or 0, or a number from 0 to 100. What does not exist
// counts as 0.
func (e *Expression) Percent(environment string, t, ct *Facts) (float64, error) {
	result, err := e.evaluate(environment, t, ct)
	if err != nil {
		if strings.HasPrefix(err.Error(), missingKey) {
			err = nil
		}
		return 0, err
	}
	var percent float64
	switch v := result.(type) {
	case types.Bool:
		if v {
			percent = 100
		}
	case types.Int:
		percent = float64(v)
	case types.Uint:
		percent = float64(v)
	case types.Double:
		percent = float64(v)
	}
	if percent != percent {
		return 0, fmt.Errorf("the result is not a number")
	}
	return min(max(percent, 0), 100), nil
}
