package config

import (
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/formula"
)

// maxCells is the maximum number of expressions in one configuration.
const maxCells = 1000

// factCluster is the name of the cluster that has values of its own, else empty.
const factCluster = "cluster"

// language has the facts of policies' expressions, and the cluster.
var language = func() *formula.Language {
	facts := fleet.FactTypes()
	facts[factCluster] = cel.StringType
	return formula.NewLanguage("platform", facts)
}()

// readFormula adds a key whose value is an expression.
func (l *layer) readFormula(e fleet.ConfigEntry) {
	text, line := "", l.config.Position.Line
	var err error
	if e.Value != nil {
		text, line = e.Value.Value, e.Value.Line
	}
	if e.Value == nil || e.Value.Kind != yaml.ScalarNode {
		err = errors.New("it is not a text; write an expression")
	}
	n := &node{value: text, raw: text, from: l, line: line, replaces: l.config.Replace}
	if err == nil {
		n.formula, err = language.Compile(text)
	}
	if err != nil {
		p := fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindConfigExpression, Object: l.ref(), Position: l.config.Position,
			Message: fmt.Sprintf("the expression of %s cannot be used: %v", e.Key, err), Hint: "correct the expression; what it applies to is held",
		}
		p.Position.Line = line
		l.problems = append(l.problems, p)
		return
	}
	l.entries = append(l.entries, entry{e.Key, n})
	l.formulas = append(l.formulas, entry{e.Key, n})
}

// placed is a value of a key with the index of its layer.
type placed struct {
	layer int
	value *node
}

// addCells collects the expressions of a set.
func (set *layerSet) addCells() {
	for i, l := range set.list {
		for _, e := range l.formulas {
			set.cells = append(set.cells, formula.Cell{Formula: e.value.formula, Path: []string{e.key}, Layer: i, Name: e.key})
			set.of = append(set.of, e.value)
		}
	}
	if len(set.cells) == 0 {
		return
	}
	set.placed = map[string][]placed{}
	for i, l := range set.list {
		for _, e := range l.entries {
			set.placed[e.key] = append(set.placed[e.key], placed{i, e.value})
		}
	}
}

// computation is a configuration while its expressions are computed.
type computation struct {
	set      *layerSet
	results  map[string]string
	computed map[*node]*node
}

var _ formula.Configuration = (*computation)(nil)

// Value returns the value at a path, as composed of the layers below a limit.
func (c *computation) Value(path []string, below int) (any, bool) {
	var values []*node
	for _, p := range c.set.placed[path[0]] {
		if _, done := c.computed[p.value]; p.layer < below && (p.value.formula == nil || done) {
			values = append(values, p.value)
		}
	}
	n := fold(values, c.results, c.computed)
	for _, step := range path[1:] {
		if n == nil {
			break
		}
		n = n.fields[step]
	}
	if n == nil {
		return nil, false
	}
	return n.data(), true
}

// Replaced reports whether a value that is written replaces everything below it.
func (c *computation) Replaced(path []string, above, below int) bool {
	return slices.ContainsFunc(c.set.placed[path[0]], func(p placed) bool {
		return p.layer > above && p.layer < below && p.value.formula == nil && (p.value.replaces || p.value.kind == scalar)
	})
}

// Set adds the result of an expression; nil if it has none.
func (c *computation) Set(cell int, result any) {
	n := c.set.of[cell]
	if result == nil {
		c.computed[n] = nil
		return
	}
	c.computed[n] = n.of(result, true)
}

// of returns a node with a result of the expression n. At the top level of a configuration, scalars are text.
func (n *node) of(result any, top bool) *node {
	c := *n
	c.value, c.raw, c.over = nil, "", nil
	switch v := result.(type) {
	case map[string]any:
		c.kind, c.fields = mapping, make(map[string]*node, len(v))
		for key, field := range v {
			c.fields[key] = n.of(field, false)
		}
	case []any:
		c.kind = list
		for _, item := range v {
			c.items = append(c.items, n.of(item, false))
		}
	case string:
		c.value, c.raw = v, v
	case float64:
		c.value, c.raw = v, strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		c.raw = "null"
	default:
		c.value, c.raw = v, fmt.Sprint(v)
	}
	if top && c.kind == scalar {
		c.value = c.raw
	}
	if !top {
		c.replaces = false
	}
	return &c
}

// compute computes the expressions of a set for a target.
func (s *Stack) compute(set *layerSet, t *fleet.Target, results map[string]string) (map[*node]*node, []fleet.Problem) {
	if len(set.cells) == 0 {
		return nil, nil
	}
	c := &computation{set, results, map[*node]*node{}}
	facts, err := s.place.factsOf(t)
	if err == nil && len(set.cells) > maxCells {
		err = fmt.Errorf("%d expressions apply here, the maximum is %d", len(set.cells), maxCells)
	}
	if err != nil {
		for i := range set.of {
			c.Set(i, nil)
		}
		return c.computed, []fleet.Problem{set.failure(0, err)}
	}
	var problems []fleet.Problem
	for _, f := range formula.Solve(set.cells, c, facts) {
		problems = append(problems, set.failure(f.Cell, f.Err))
	}
	return c.computed, problems
}

func (set *layerSet) failure(cell int, err error) fleet.Problem {
	at := set.of[cell]
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindConfigExpression, Object: at.from.ref(), Position: at.place().Position,
		Message: fmt.Sprintf("compute %s: %v", set.cells[cell].Name, err), Hint: "correct the expression",
	}
}

// place is where expressions are computed.
type place struct {
	environment string
	clusterType *fleet.ClusterType // with the labels of the cluster
	facts       *fleet.Facts
}

// placeOf returns the facts of a cluster type or cluster; nil if no layer has expressions.
func (c *Composer) placeOf(ct *fleet.ClusterType) *place {
	if !slices.ContainsFunc(c.layers, func(l *layer) bool { return len(l.formulas) > 0 }) {
		return nil
	}
	own := *ct
	own.Labels = ct.ClusterLabels()
	return &place{c.snapshot.Environment, &own, own.Facts()}
}

// factsOf returns the variables of expressions for a target.
func (p *place) factsOf(t *fleet.Target) (func(string) (ref.Val, bool), error) {
	target := t.Facts()
	for _, f := range []*fleet.Facts{target, p.facts} {
		if _, _, err := f.Value(""); err != nil {
			return nil, err
		}
	}
	return func(name string) (ref.Val, bool) {
		switch name {
		case "environment":
			return types.String(p.environment), true
		case factCluster:
			return types.String(p.clusterType.Cluster), true
		}
		if v, ok, _ := target.Value(name); ok {
			return v, true
		}
		v, ok, _ := p.facts.Value(name)
		return v, ok
	}, nil
}

// writeRead adds the facts of the cluster type that the expressions of a layer read.
func (p *place) writeRead(h hash.Hash, l *layer) {
	for _, e := range l.formulas {
		for _, r := range e.value.formula.Reads() {
			var value any
			switch r.Of {
			case factCluster:
				value = p.clusterType.Cluster
			case "clusterType.name":
				value = p.clusterType.Name
			case "clusterType.labels":
				value = factAt(p.clusterType.Labels, r.Path)
			case "clusterType.features":
				value = factAt(p.clusterType.Features, r.Path)
			case "clusterType.capacity":
				value = capacities(p.clusterType.Capacity)
			default:
				continue
			}
			fmt.Fprintf(h, "%q %q\n", r.String(), fmt.Sprint(value))
		}
	}
}

func capacities(all map[string]resource.Quantity) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(all)) {
		q := all[name]
		text += fmt.Sprintf("%q %s ", name, q.String())
	}
	return text
}

// factAt returns the value of a map that an expression reads, or all of them if that is not known.
func factAt(all map[string]string, path []string) any {
	if len(path) == 0 {
		return fmt.Sprintf("%q", all)
	}
	value, ok := all[path[0]]
	return fmt.Sprintf("%q %t", value, ok)
}
