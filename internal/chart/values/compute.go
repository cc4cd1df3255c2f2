package values

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/formula"
)

// Facts are what expressions can read of a target beside its values. The manifests of a target are the same on all its clusters, so
// that there are no facts of clusters.
type Facts struct {
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	// Target is the name of the target in the Workload.
	Target string `json:"target"`
	// Workspace is the owner of the workload. Empty if it is not known: expressions that read it fail.
	Workspace string `json:"workspace,omitempty"`
	// Labels are those of the target and its Workload, without those that Kalypso sets.
	Labels   map[string]string            `json:"labels,omitempty"`
	Requests map[string]resource.Quantity `json:"requests,omitempty"`
	// Levels are the names of the folders of the target by the names of their levels. A level that the target does not reach is absent.
	Levels map[string]string `json:"levels,omitempty"`
}

// Limits of the expressions of one target.
const (
	maxCells = 1000
	maxReads = 1_000_000 // values that expressions read together
)

// Names of facts.
const (
	factEnvironment = "environment"
	factLevel       = "level"
	factWorkspace   = "target.workspace"
)

var language = func() *formula.Language {
	facts := map[string]*cel.Type{factLevel: cel.MapType(cel.StringType, cel.StringType)}
	for name, t := range fleet.FactTypes() {
		if name == factEnvironment || strings.HasPrefix(name, "target.") {
			facts[name] = t
		}
	}
	return formula.NewLanguage("application", facts)
}()

// resolver returns the variables of expressions.
func (f Facts) resolver() (func(name string) (ref.Val, bool), error) {
	t := &fleet.Target{
		Name: fleet.TargetName(f.Workload, f.Target), ShortName: f.Target, Workload: f.Workload, Workspace: f.Workspace, Labels: f.Labels, Requests: f.Requests,
	}
	target := t.Facts()
	if _, _, err := target.Value(factWorkspace); err != nil {
		return nil, err
	}
	levels := f.Levels
	if levels == nil {
		levels = map[string]string{}
	}
	return func(name string) (ref.Val, bool) {
		switch {
		case name == factEnvironment:
			return types.String(f.Environment), true
		case name == factLevel:
			return types.DefaultTypeAdapter.NativeToValue(levels), true
		case name == factWorkspace && f.Workspace == "":
			return types.WrapErr(errors.New("it reads the workspace, which only the platform's registration knows: render it on the server, or once it is published")), true
		}
		v, ok, _ := target.Value(name)
		return v, ok
	}, nil
}

// Compute is like [Compose], and computes expressions. A problem is an expression that cannot be computed; its value is left out.
func Compute(layers []*Layer, vars Vars, facts Facts) (*Composed, []fleet.Problem) {
	c := &computation{layers: layers, vars: vars, used: map[string]bool{}, results: map[cell]*node{}, left: maxReads}
	var cells []formula.Cell
	for i, l := range layers {
		for _, path := range l.formulas {
			n := l.root.below(path)
			c.cells = append(c.cells, cell{i, n})
			cells = append(cells, formula.Cell{Formula: n.formula, Path: path, Layer: i, Name: dotted(path)})
		}
	}
	var problems []fleet.Problem
	switch resolve, err := facts.resolver(); {
	case len(cells) == 0:
	case err == nil && len(cells) > maxCells:
		problems = append(problems, c.failure(cells, 0, fmt.Errorf("%d expressions apply here, the maximum is %d", len(cells), maxCells)))
	case err != nil:
		problems = append(problems, c.failure(cells, 0, err))
	default:
		for _, f := range formula.Solve(cells, c, resolve) {
			problems = append(problems, c.failure(cells, f.Cell, f.Err))
		}
		if c.left < 0 {
			problems = []fleet.Problem{c.failure(cells, 0, fmt.Errorf("the expressions read more than %d values together", maxReads))}
		}
	}
	return compose(layers, vars, c.used, c.layer), problems
}

// cell is an expression of a layer. A layer can be there twice.
type cell struct {
	layer int
	node  *node
}

// computation is a configuration while its expressions are computed.
type computation struct {
	layers  []*Layer
	vars    Vars
	used    map[string]bool // variables that what is read refers to
	cells   []cell
	results map[cell]*node // of the expressions that have one
	left    int            // values that may still be read
}

var _ formula.Configuration = (*computation)(nil)

func (c *computation) failure(cells []formula.Cell, i int, err error) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindConfigExpression, Position: c.cells[i].node.at,
		Message: fmt.Sprintf("compute %s: %v", cells[i].Name, err), Hint: "correct the expression",
	}
}

// layer returns the values of a layer, with the results of its expressions.
func (c *computation) layer(i int, l *Layer) *node { return c.resolve(i, l.root) }

// resolve returns a value of a layer with the results of its expressions; nil if there are none yet.
func (c *computation) resolve(i int, n *node) *node {
	switch {
	case n.formula != nil:
		return c.results[cell{i, n}]
	case len(c.layers[i].formulas) == 0 || n.fields == nil:
		return n
	}
	resolved := *n
	resolved.fields = map[string]*node{}
	for key, field := range n.fields {
		c.left--
		if r := c.resolve(i, field); r != nil {
			resolved.fields[key] = r
		}
	}
	if len(resolved.fields) == 0 {
		return nil
	}
	return &resolved
}

// Value returns the value at a path, as composed of the layers below a limit.
func (c *computation) Value(path []string, below int) (any, bool) {
	var stack []*node
	for i, l := range c.layers[:min(below, len(c.layers))] {
		if field := l.root.fields[path[0]]; field == nil {
			continue
		} else if field = c.resolve(i, field); field != nil {
			stack = put(stack, field)
		}
	}
	for _, key := range path[1:] {
		var next []*node
		for _, n := range stack {
			if field := n.fields[key]; field != nil {
				next = put(next, field)
			}
		}
		stack = next
	}
	if c.left -= len(stack); len(stack) == 0 || c.left < 0 {
		return nil, false
	}
	var n *node
	for _, value := range stack {
		n = merge(n, value)
	}
	c.vars.noteWritten(n, c.used)
	return c.read(n.data(c.vars)), c.left >= 0
}

// put adds a value on top of others at the same path. A value that is not a map replaces them, and is replaced by one that is.
func put(stack []*node, n *node) []*node {
	if len(stack) == 0 {
		return []*node{n}
	}
	isMap := stack[len(stack)-1].fields != nil
	if empty, ok := n.value.(map[string]any); ok && len(empty) == 0 && isMap {
		return stack
	}
	if n.fields == nil || !isMap {
		return []*node{n}
	}
	return append(stack, n)
}

// read returns a value as expressions see it: numbers without a fraction are integers.
func (c *computation) read(value any) any {
	if c.left--; c.left < 0 {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, field := range v {
			fields[key] = c.read(field)
		}
		return fields
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = c.read(item)
		}
		return items
	case float64:
		const exact = 1 << 53
		if i := int64(v); -exact <= v && v <= exact && float64(i) == v {
			return i
		}
	}
	return value
}

// Replaced reports whether a value that is written replaces everything below it.
func (c *computation) Replaced(path []string, above, below int) bool {
	for _, l := range c.layers[min(above+1, len(c.layers)):min(below, len(c.layers))] {
		n := l.root
		for _, key := range path {
			if n = n.fields[key]; n == nil || n.fields == nil {
				break
			}
		}
		if n == nil || n.formula != nil || n.fields != nil {
			continue
		}
		if _, isMap := n.value.(map[string]any); !isMap {
			return true
		}
	}
	return false
}

// Set adds the result of an expression; nil if it has none.
func (c *computation) Set(i int, result any) {
	p := c.cells[i]
	delete(c.results, p)
	if result != nil {
		c.results[p] = p.node.result(result)
	}
}

// result returns a node with a result of the expression n. Numbers are floating point, as in values files.
func (n *node) result(value any) *node {
	r := &node{at: n.at, by: n.formula}
	fields, ok := value.(map[string]any)
	if !ok || len(fields) == 0 {
		r.value = floating(value)
		return r
	}
	r.fields = make(map[string]*node, len(fields))
	for key, field := range fields {
		r.fields[key] = n.result(field)
	}
	return r
}

func floating(value any) any {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case []any:
		items := slices.Clone(v)
		for i := range items {
			items[i] = floating(items[i])
		}
		return items
	case map[string]any:
		fields := maps.Clone(v)
		for key := range fields {
			fields[key] = floating(fields[key])
		}
		return fields
	}
	return value
}

// below returns the value at a path, which exists.
func (n *node) below(path []string) *node {
	for _, key := range path {
		n = n.fields[key]
	}
	return n
}
