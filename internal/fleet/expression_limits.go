package fleet

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	kubecel "k8s.io/apiserver/pkg/cel/library"
)

// Limits of the values that one call of a function reads or makes.
const (
	maxCallValues = 200_000 // in lists and maps, with those inside
	maxCallText   = 2 << 20 // bytes of all texts
	maxCallPairs  = 4_000_000
)

// ExpressionCost returns options of programs that may cost a limit. CEL counts nothing for values inside of others; here the cost of a call
// is that of all values that it reads.
func ExpressionCost(limit uint64) []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.CostTracking(callCosts{&kubecel.CostEstimator{}}), cel.CostLimit(limit),
		cel.CostTrackerOptions(
			interpreter.OverloadCostTracker("list_flatten", costOfAll), interpreter.OverloadCostTracker("list_flatten_int", costOfAll),
		),
	}
}

// flattenEstimates are options of estimates, which know nothing about lists inside of others.
func flattenEstimates() []checker.CostOption {
	most := func(checker.CostEstimator, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
		return &checker.CallEstimate{
			CostEstimate: checker.CostEstimate{Min: 1, Max: maxCallValues}, ResultSize: &checker.SizeEstimate{Max: maxCallValues},
		}
	}
	return []checker.CostOption{checker.OverloadCostEstimate("list_flatten", most), checker.OverloadCostEstimate("list_flatten_int", most)}
}

// ExpressionLimits returns options of programs that evaluate untrusted expressions in an environment. CEL counts the cost of a call after it.
// Here calls whose arguments or results are too large fail before they take memory.
func ExpressionLimits(env *cel.Env) []cel.ProgramOption {
	known := env.Functions()
	return []cel.ProgramOption{
		cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
			call, ok := i.(interpreter.InterpretableCall)
			if !ok || len(call.Args()) == 0 || !isLimited(call.Function()) {
				return i, nil
			}
			impl, err := implementation(known, call)
			if impl == nil || err != nil {
				return i, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
				if exceedsCall(call.Function(), args) {
					return types.NewErr("%s: its values are too large", strings.Trim(call.Function(), "_@"))
				}
				return impl(args...)
			}), nil
		}),
	}
}

// readsAll are the functions that read all of their arguments, with the values inside of those.
var readsAll = []string{
	"flatten", "join", "format", "distinct", "sort", "@sortByAssociatedKeys", "reverse", "slice", "indexOf", "lastIndexOf", "includes", "sum", "min", "max", "isSorted",
	"split", "replace", "sets.contains", "sets.equivalent", "sets.intersects", operators.Equals, operators.NotEquals, operators.In,
}

// readsSize are the functions that read only how large their arguments are.
var readsSize = []string{"lists.range", operators.Add}

func isLimited(function string) bool {
	return slices.Contains(readsAll, function) || slices.Contains(readsSize, function)
}

// implementation returns what a call does; nil if it cannot be replaced.
func implementation(known map[string]*decls.FunctionDecl, call interpreter.InterpretableCall) (functions.FunctionOp, error) {
	switch call.Function() {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }, nil
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }, nil
	}
	bindings, err := known[call.Function()].Bindings()
	if err != nil {
		return nil, err
	}
	of := func(name string) int {
		return slices.IndexFunc(bindings, func(o *functions.Overload) bool { return o.Operator == name })
	}
	at := of(call.OverloadID())
	if at < 0 {
		at = of(call.Function())
	}
	if at < 0 || bindings[at].NonStrict {
		return nil, nil
	}
	o := bindings[at]
	var impl functions.FunctionOp
	switch {
	case len(call.Args()) == 1 && o.Unary != nil:
		impl = func(args ...ref.Val) ref.Val { return o.Unary(args[0]) }
	case len(call.Args()) == 2 && o.Binary != nil:
		impl = func(args ...ref.Val) ref.Val { return o.Binary(args[0], args[1]) }
	case o.Function != nil:
		impl = o.Function
	default:
		return nil, nil
	}
	return func(args ...ref.Val) ref.Val {
		if o.OperandTrait != 0 && !args[0].Type().HasTrait(o.OperandTrait) {
			return types.NewErr("no such overload: %s", call.Function())
		}
		return impl(args...)
	}, nil
}

// exceedsCall reports whether a call would read or make values beyond the limits.
func exceedsCall(function string, args []ref.Val) bool {
	switch function {
	case "lists.range":
		n, ok := args[0].(types.Int)
		return ok && n > maxCallValues
	case operators.Add:
		return sizes(args) > maxCallValues && !noLists(args) || sizes(args) > maxCallText
	}
	w := weighed{}
	for _, v := range args {
		w.add(v)
	}
	if w.beyond() {
		return true
	}
	switch function {
	case "distinct":
		n := size(args[0])
		return n*n > maxCallPairs
	case "sets.contains", "sets.equivalent", "sets.intersects":
		return len(args) == 2 && size(args[0])*size(args[1]) > maxCallPairs
	case "replace":
		return replaced(args) > maxCallText
	case "join":
		return len(args) == 2 && size(args[0])*size(args[1])+int64(w.text) > maxCallText
	}
	return false
}

func noLists(args []ref.Val) bool {
	return !slices.ContainsFunc(args, func(v ref.Val) bool { _, ok := v.(traits.Lister); return ok })
}

// replaced returns how many bytes the result of replace has at most.
func replaced(args []ref.Val) int64 {
	if len(args) < 3 {
		return 0
	}
	in, ok1 := args[0].(types.String)
	old, ok2 := args[1].(types.String)
	by, ok3 := args[2].(types.String)
	if !ok1 || !ok2 || !ok3 {
		return 0
	}
	return int64(len(in)) + int64(strings.Count(string(in), string(old)))*int64(len(by))
}

// size returns the size of a value, without what is inside of it.
func size(v ref.Val) int64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return int64(n)
		}
	}
	return 1
}

func sizes(args []ref.Val) (n int64) {
	for _, v := range args {
		n += size(v)
	}
	return n
}

// weighed counts values and those inside of them, until there are more than one call may read.
type weighed struct{ values, text int }

func (w *weighed) beyond() bool { return w.values > maxCallValues || w.text > maxCallText }

func (w *weighed) add(v ref.Val) {
	if w.values++; w.beyond() {
		return
	}
	switch v := v.(type) {
	case types.String:
		w.text += len(v)
	case types.Bytes:
		w.text += len(v)
	case *types.Optional:
		if v.HasValue() {
			w.add(v.GetValue())
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && !w.beyond(); {
			key := it.Next()
			w.add(key)
			w.add(v.Get(key))
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && !w.beyond(); {
			w.add(it.Next())
		}
	}
}

// cost is what reading the values costs, in units of CEL.
func (w *weighed) cost() uint64 { return uint64(w.values + w.text/10) }

func costOfAll(args []ref.Val, _ ref.Val) *uint64 {
	w := weighed{}
	for _, v := range args {
		w.add(v)
	}
	cost := 1 + w.cost()
	return &cost
}

// callCosts counts the cost of calls with everything that they read or make.
type callCosts struct{ *kubecel.CostEstimator }

// CallCost returns the cost of a call; nil for that of CEL.
func (c callCosts) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	known := c.CostEstimator.CallCost(function, overload, args, result)
	var cost uint64
	switch {
	case function == "size" || function == operators.Add:
		if _, grows := args[0].(traits.MutableLister); grows || noLists(args) {
			return known
		}
		cost = uint64(sizes(args) / 20) // lists that were joined count their parts again
	case slices.Contains(readsAll, function):
		cost = *costOfAll(args, nil)
		if text, ok := result.(types.String); ok {
			cost += uint64(len(text) / 10)
		}
	default:
		return known
	}
	if known != nil {
		cost = max(cost, *known)
	}
	cost = max(cost, 1)
	return &cost
}
