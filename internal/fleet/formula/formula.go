// Package formula computes values of configuration from other values and from facts, by expressions in CEL (https://cel.dev).
//
// An expression reads
//
//	config.KEY    a value of the same configuration, as it is in the end
//	above.KEY     a value as the levels above make it, before the level of the expression
//	facts         variables of the [Language]: the environment, the target, where it runs
//
// config and above are read key by key, so that what depends on what is known before anything is computed: an expression that reads
// config as a whole, or by a computed key, is an error, and so are expressions that read each other in a circle.
//
// The same inputs give the same result. Expressions have no clock, no randomness and no files, and everything that is computed for
// one configuration together has a limit of cost.
package formula

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Names of the two variables that are the configuration.
const (
	config = "config"
	above  = "above"
)

// Formula is a compiled expression. It is immutable and safe for concurrent use.
type Formula struct {
	text    string
	program cel.Program
	reads   []Read
	// scalar means that the result is certainly neither a map nor a list, so that it replaces what is below it.
	scalar bool
}

// String returns the expression as written.
func (f *Formula) String() string { return f.text }

// Scalar reports whether the result is certainly neither a map nor a list nor absent.
func (f *Formula) Scalar() bool { return f.scalar }

// Reads returns what the expression reads, sorted.
func (f *Formula) Reads() []Read { return f.reads }

// Read is a value that an expression reads.
type Read struct {
	// Of is the variable: "config", "above", or that of a fact.
	Of string
	// Path leads to the value within it, as far as it is known.
	Path []string
}

// String formats what is read as in an expression: config.database.host.
func (r Read) String() string {
	var b strings.Builder
	b.WriteString(r.Of)
	for _, step := range r.Path {
		if isName(step) {
			b.WriteString("." + step)
		} else {
			fmt.Fprintf(&b, "[%s]", strconv.Quote(step))
		}
	}
	return b.String()
}

// IsConfig reports whether the value is one of the configuration.
func (r Read) IsConfig() bool { return r.Of == config || r.Of == above }

func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Language is what expressions can read beside the configuration.
type Language struct {
	name  string
	facts map[string]*cel.Type
	env   func() (*cel.Env, error)
	known func() (*lru.Cache[string, *Formula], error)
}

// NewLanguage returns a language with facts, by the names of their variables, which can have dots. name identifies it in messages.
func NewLanguage(name string, facts map[string]*cel.Type) *Language {
	l := &Language{name: name, facts: facts}
	l.env = sync.OnceValues(func() (*cel.Env, error) {
		options := append(fleet.ExpressionLanguage(), cel.Variable(config, cel.DynType), cel.Variable(above, cel.DynType))
		for _, name := range sortedKeys(facts) {
			options = append(options, cel.Variable(name, facts[name]))
		}
		return cel.NewEnv(options...)
	})
	l.known = sync.OnceValues(func() (*lru.Cache[string, *Formula], error) { return lru.New[string, *Formula](1024) })
	return l
}

// Compile compiles an expression. Errors name the line and column within it.
func (l *Language) Compile(text string) (*Formula, error) {
	known, err := l.known()
	if err != nil {
		return nil, err
	}
	if f, ok := known.Get(text); ok {
		return f, nil
	}
	env, err := l.env()
	if err != nil {
		return nil, err
	}
	ast, err := fleet.CheckExpression(env, text)
	if err != nil {
		if strings.Contains(err.Error(), "undeclared reference") {
			err = fmt.Errorf("%w; put a text in quotes, and write config.KEY for another value", err)
		}
		return nil, err
	}
	f := &Formula{text: text}
	if f.reads, err = l.readsOf(ast); err != nil {
		return nil, err
	}
	switch ast.OutputType().Kind() {
	case types.StringKind, types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind:
		f.scalar = true
	case types.DynKind, types.MapKind, types.ListKind, types.OpaqueKind, types.NullTypeKind, types.AnyKind:
	default:
		return nil, fmt.Errorf("the result is %s, want a text, number, boolean, map or list", ast.OutputType())
	}
	if f.program, err = program(env, ast); err != nil {
		return nil, err
	}
	known.Add(text, f)
	return f, nil
}

// program returns the program of an expression, which counts its cost.
func program(env *cel.Env, ast *cel.Ast) (cel.Program, error) {
	return fleet.ExpressionProgram(env, ast, append(fleet.ExpressionCost(fleet.MaxFormulaCost), cel.EvalOptions(cel.OptOptimize))...)
}

// readsOf returns what an expression reads.
func (l *Language) readsOf(ast *cel.Ast) ([]Read, error) {
	var reads []Read
	root := celast.NavigateAST(ast.NativeRep())
	for _, ident := range celast.MatchDescendants(root, celast.KindMatcher(celast.IdentKind)) {
		name := ident.AsIdent()
		r := Read{Of: name, Path: pathFrom(ident)}
		switch {
		case r.IsConfig() && len(r.Path) == 0:
			return nil, fmt.Errorf("%s is read as a whole, or by a computed key; name the value, as in %s.KEY", name, name)
		case r.IsConfig() || l.facts[name] != nil:
			reads = append(reads, r)
		}
	}
	slices.SortFunc(reads, func(a, b Read) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(reads, func(a, b Read) bool { return a.String() == b.String() }), nil
}

// pathFrom returns the constant keys by which a variable is read.
func pathFrom(n celast.NavigableExpr) []string {
	var path []string
	for {
		parent, ok := n.Parent()
		if !ok {
			return path
		}
		switch parent.Kind() {
		case celast.SelectKind:
			path = append(path, parent.AsSelect().FieldName())
		case celast.CallKind:
			call := parent.AsCall()
			args := call.Args()
			index := slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, call.FunctionName())
			if !index || len(args) != 2 || args[0].ID() != n.ID() || args[1].Kind() != celast.LiteralKind {
				return path
			}
			key, isText := args[1].AsLiteral().Value().(string)
			if !isText {
				return path
			}
			path = append(path, key)
		default:
			return path
		}
		n = parent
	}
}
