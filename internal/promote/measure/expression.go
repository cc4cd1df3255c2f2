package measure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Expression is a CEL expression (https://cel.dev) about an answer, in the language of [fleet.Expression]. The cost of an
// evaluation is limited. It is immutable and safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
	uses    []string
}

// String returns the expression as written.
func (e *Expression) String() string { return e.text }

// refers reports whether the expression refers to a variable.
func (e *Expression) refers(variable string) bool { return slices.Contains(e.uses, variable) }

// The variables of an HTTP response.
const (
	varStatus  = "status"
	varHeaders = "headers"
	varBody    = "body"
	varJSON    = "json"
)

// The variables of a Prometheus answer.
const (
	varResult      = "result"
	varResults     = "results"
	varBaseline    = "baseline"
	varHasBaseline = "hasBaseline"
)

// kind is a set of variables.
type kind int

const (
	ofHTTP kind = iota
	ofPrometheus
	ofComparison
)

var environments = [...]func() (*cel.Env, error){
	ofHTTP: sync.OnceValues(func() (*cel.Env, error) {
		return cel.NewEnv(append(fleet.ExpressionLanguage(), cel.Variable(varStatus, cel.IntType),
			cel.Variable(varHeaders, cel.MapType(cel.StringType, cel.StringType)), cel.Variable(varBody, cel.StringType), cel.Variable(varJSON, cel.DynType))...)
	}),
	ofPrometheus: sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(prometheusVariables()...) }),
	ofComparison: sync.OnceValues(func() (*cel.Env, error) {
		return cel.NewEnv(append(prometheusVariables(), cel.Variable(varBaseline, cel.DoubleType), cel.Variable(varHasBaseline, cel.BoolType))...)
	}),
}

func prometheusVariables() []cel.EnvOption {
	return append(fleet.ExpressionLanguage(), cel.Variable(varResult, cel.DoubleType),
		cel.Variable(varResults, cel.ListType(cel.MapType(cel.StringType, cel.DynType))))
}

// ParseHTTP parses an expression about an HTTP response.
func ParseHTTP(text string) (*Expression, error) { return parse(ofHTTP, text) }

// ParsePrometheus parses an expression about a Prometheus answer, which is compared with a baseline or not. One that compares has to use it.
func ParsePrometheus(text string, compares bool) (*Expression, error) {
	if !compares {
		return parse(ofPrometheus, text)
	}
	e, err := parse(ofComparison, text)
	if err == nil && !e.refers(varBaseline) {
		return nil, errors.New("it does not use baseline")
	}
	return e, err
}

// compiled keeps expressions, which every round compiles again.
var compiled = sync.OnceValues(func() (*lru.Cache[string, *Expression], error) { return lru.New[string, *Expression](256) })

func parse(of kind, text string) (*Expression, error) {
	cache, err := compiled()
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(of, text)
	if e, ok := cache.Get(key); ok {
		return e, nil
	}
	env, err := environments[of]()
	if err != nil {
		return nil, err
	}
	ast, err := fleet.CheckExpression(env, text, cel.BoolType, cel.DynType)
	if err != nil {
		return nil, err
	}
	e := &Expression{text: text}
	if e.program, err = env.Program(ast, append(append(fleet.ExpressionLimits(env), fleet.ExpressionCost(fleet.MaxExpressionCost)...), cel.EvalOptions(cel.OptOptimize))...); err != nil {
		return nil, err
	}
	celast.PostOrderVisit(ast.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if x.Kind() == celast.IdentKind {
			e.uses = append(e.uses, x.AsIdent())
		}
	}))
	cache.Add(key, e)
	return e, nil
}

// holds evaluates the expression. A variable can be a [types.Err], which counts only if its value is needed.
func (e *Expression) holds(variables map[string]any) error {
	result, _, err := e.program.Eval(variables)
	switch {
	case err != nil && strings.Contains(err.Error(), "cost limit"):
		return fmt.Errorf("%s takes too long for this answer: its cost is more than %d", e, fleet.MaxExpressionCost)
	case err != nil:
		return fmt.Errorf("%s: %w", e, err)
	case result == types.True:
		return nil
	case result == types.False:
		return fmt.Errorf("%s is false", e)
	}
	return fmt.Errorf("%s is a %s, and neither true nor false", e, result.Type().TypeName())
}

// missing is the value of a variable that has none, and why.
func missing(format string, args ...any) any { return types.NewErr(format, args...) }
