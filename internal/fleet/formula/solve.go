package formula

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Cell is a formula at its place in a configuration.
type Cell struct {
	*Formula
	// Path leads to the value that it computes. // required
	Path []string
	// Layer is the position of its layer: later layers take precedence.
	Layer int
	// Name is the name of the value in messages.
	Name string
}

// Configuration is what formulas are part of.
type Configuration interface {
	// Value returns the value at a path, as composed of the layers below a limit and of the results so far.
	Value(path []string, below int) (value any, ok bool)
	// Replaced reports whether a value that is written, at the path or around it, replaces everything below it, in a layer above one and
	// below another one.
	Replaced(path []string, above, below int) bool
	// Set adds the result of a formula; nil if it has none.
	Set(cell int, result any)
}

// Failure is a formula that cannot be computed.
type Failure struct {
	Cell int
	Err  error
}

// ErrCost is the error of a configuration whose expressions cost too much together.
var ErrCost = fmt.Errorf("the expressions of the configuration cost too much: more than %d together", fleet.MaxFormulaCost)

// end is the limit above all layers.
const end = 1 << 30

// Solve computes the formulas of a configuration, each after those that it reads. Formulas that are overridden by a value that replaces
// them are not computed, unless another one reads them. facts resolves the variables of the language.
func Solve(cells []Cell, c Configuration, facts func(name string) (ref.Val, bool)) []Failure {
	s := &solver{cells: cells, config: c, facts: facts, states: make([]state, len(cells))}
	for i := range cells {
		if !s.overridden(i, end) {
			s.compute(i)
		}
	}
	return s.failures
}

type state int

const (
	untouched state = iota
	running
	finished
	failed
)

type solver struct {
	cells    []Cell
	config   Configuration
	facts    func(name string) (ref.Val, bool)
	states   []state
	running  []int // in the order in which they read each other
	failures []Failure
	cost     uint64
}

// overridden reports whether a value between the layer of a cell and a limit certainly replaces it.
func (s *solver) overridden(i, below int) bool {
	cell := s.cells[i]
	for j, other := range s.cells {
		if j != i && other.scalar && other.Layer > cell.Layer && other.Layer < below && isAround(other.Path, cell.Path) {
			return true
		}
	}
	return s.config.Replaced(cell.Path, cell.Layer, below)
}

// isAround reports whether a path is another one, or leads to something around it.
func isAround(path, inner []string) bool {
	return len(path) <= len(inner) && slices.Equal(path, inner[:len(path)])
}

// errDepends means that another formula fails, which has the reason.
var errDepends = errors.New("a value that it reads cannot be computed")

// compute computes a formula and everything that it reads. It reports whether there is a result, or none is needed.
func (s *solver) compute(i int) bool {
	switch s.states[i] {
	case finished:
		return true
	case failed:
		return false
	case running:
		return false // reported where the circle is closed
	}
	s.states[i] = running
	s.running = append(s.running, i)
	err := s.evaluate(i)
	s.running = s.running[:len(s.running)-1]
	s.states[i] = finished
	if err != nil {
		s.config.Set(i, nil)
		s.states[i] = failed
		s.failures = append(s.failures, Failure{i, err})
	}
	return err == nil
}

func (s *solver) evaluate(i int) error {
	if s.cost > fleet.MaxFormulaCost {
		return ErrCost // one more would take as long again
	}
	cell := s.cells[i]
	values := map[string]any{config: map[string]any{}, above: map[string]any{}}
	for _, r := range cell.reads {
		if !r.IsConfig() {
			continue
		}
		below := end
		if r.Of == above {
			below = cell.Layer
		}
		if err := s.need(i, r, below); err != nil {
			return err
		}
		if value, ok := s.config.Value(r.Path, below); ok {
			put(values[r.Of].(map[string]any), r.Path, value)
		}
	}
	result, details, err := cell.program.Eval(&activation{values, s.facts})
	if details != nil && details.ActualCost() != nil {
		s.cost += *details.ActualCost()
	}
	if s.cost > fleet.MaxFormulaCost {
		return ErrCost
	}
	if err != nil {
		return explain(err)
	}
	value, ok, err := convert(result)
	if err != nil {
		return err
	}
	if !ok {
		value = nil
	}
	s.config.Set(i, value)
	return nil
}

// need computes the formulas that a read depends on.
func (s *solver) need(reader int, r Read, below int) error {
	for j, cell := range s.cells {
		if cell.Layer >= below || !isAround(cell.Path, r.Path) && !isAround(r.Path, cell.Path) || s.overridden(j, below) {
			continue
		}
		if s.states[j] == running {
			return s.circle(j, reader)
		}
		if !s.compute(j) {
			return fmt.Errorf("%w: %s", errDepends, s.cells[j].Name)
		}
	}
	return nil
}

// circle describes formulas that read each other.
func (s *solver) circle(first, last int) error {
	if first == last {
		return fmt.Errorf("%s reads itself; above reads its value of the levels above", s.cells[first].Name)
	}
	var names []string
	for _, i := range s.running[slices.Index(s.running, first):] {
		names = append(names, s.cells[i].Name)
	}
	return fmt.Errorf("values read each other in a circle: %s", strings.Join(append(names, names[0]), " -> "))
}

// put stores a value at a path of nested maps.
func put(in map[string]any, path []string, value any) {
	for _, step := range path[:len(path)-1] {
		next, ok := in[step].(map[string]any)
		if !ok {
			if in[step] != nil { // a read of a whole value, which contains this one
				return
			}
			next = map[string]any{}
			in[step] = next
		}
		in = next
	}
	if known, ok := in[path[len(path)-1]].(map[string]any); ok && known != nil {
		if _, isMap := value.(map[string]any); !isMap {
			return
		}
	}
	in[path[len(path)-1]] = value
}

// explain shortens an error of an evaluation.
func explain(err error) error {
	text := err.Error()
	if key, ok := strings.CutPrefix(text, "no such key: "); ok {
		return fmt.Errorf("it reads %q, which has no value here; has() tests it, and .?key.orValue() gives a default", key)
	}
	if strings.Contains(text, "actual cost limit exceeded") {
		return ErrCost
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return errors.New(text)
}

// activation resolves the variables of one evaluation.
type activation struct {
	values map[string]any
	facts  func(name string) (ref.Val, bool)
}

// ResolveName returns the value of a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	if v, ok := a.values[name]; ok {
		return types.DefaultTypeAdapter.NativeToValue(v), true
	}
	if a.facts == nil {
		return nil, false
	}
	v, ok := a.facts(name)
	return v, ok
}

// Parent returns nil.
func (*activation) Parent() interpreter.Activation { return nil }
