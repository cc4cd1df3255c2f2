package fleet

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// inOrder is the function that the ranges of comprehensions are wrapped in. Its name is none that an expression can have.
const inOrder = "@inOrder"

// orderedRanges declares the function. CEL iterates over maps in the random order of Go's maps, so that one expression has other results
// each time: ["a", "b"] or ["b", "a"] for labels.map(k, k).
func orderedRanges() cel.EnvOption {
	return cel.Function(inOrder, cel.Overload("in_order_dyn", []*cel.Type{cel.DynType}, cel.DynType), cel.SingletonUnaryBinding(func(v ref.Val) ref.Val {
		if m, ok := v.(traits.Mapper); ok {
			return orderedMap{m}
		}
		return v
	}))
}

// ExpressionProgram returns the program of a checked expression in [ExpressionLanguage]. It has one result for the same variables: maps are
// iterated in the order of their keys. It has the limits of [ExpressionLimits]. It changes the expression, so that it comes after everything else that reads it.
func ExpressionProgram(env *cel.Env, ast *cel.Ast, options ...cel.ProgramOption) (cel.Program, error) {
	checked := ast.NativeRep()
	ids, factory := celast.MaxID(checked), celast.NewExprFactory()
	var ranges []celast.Expr
	celast.PostOrderVisit(checked.Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if x.Kind() == celast.ComprehensionKind {
			ranges = append(ranges, x.AsComprehension().IterRange())
		}
	}))
	for _, r := range ranges {
		of := factory.NewUnspecifiedExpr(r.ID()) // types and overloads are those of the ID
		of.SetKindCase(r)
		r.SetKindCase(nil)
		r.RenumberIDs(func(int64) int64 { ids++; return ids })
		r.SetKindCase(factory.NewCall(r.ID(), inOrder, of))
	}
	return env.Program(ast, append(ExpressionLimits(env), options...)...)
}

// orderedMap is a map that is iterated in the order of its keys.
type orderedMap struct{ traits.Mapper }

func (m orderedMap) keys() []ref.Val {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, func(a, b ref.Val) int {
		if order := cmp.Compare(keyGroup(a), keyGroup(b)); order != 0 {
			return order
		}
		if c, ok := a.(traits.Comparer); ok {
			if order, ok := c.Compare(b).(types.Int); ok && order != 0 {
				return int(order)
			}
		}
		return cmp.Compare(a.Type().TypeName(), b.Type().TypeName()) // 1 and 1u
	})
	return keys
}

// keyGroup is the same for keys that can be compared: numbers of all types can.
func keyGroup(key ref.Val) string {
	switch key.(type) {
	case types.Int, types.Uint, types.Double:
		return "number"
	}
	return key.Type().TypeName()
}

// Iterator returns the keys in order.
func (m orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, m.keys()).Iterator()
}

// Fold passes the entries in order.
func (m orderedMap) Fold(f traits.Folder) {
	for _, key := range m.keys() {
		if !f.FoldEntry(key, m.Get(key)) {
			return
		}
	}
}
