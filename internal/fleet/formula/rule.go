package formula

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// Rules are the rules across values of a schema: its keyword x-kubernetes-validations, at the top and at properties.
type Rules []Rule

// Rule is an expression that must be true for a value.
type Rule struct {
	schemas.Validation
	// Path leads to the value, which the expression reads as self.
	Path    []string
	program cel.Program
}

// Limits of the rules of a schema.
const (
	maxRules     = 200
	maxRuleSteps = 10_000
	maxRuleDepth = 64
)

var ruleEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(append(fleet.ExpressionLanguage(), cel.Variable("self", cel.DynType))...)
})

// RulesOf compiles the rules of a schema. A schema that contains itself has rules at its top only.
func RulesOf(s *jsonschema.Schema) (Rules, error) {
	if !declares(s, map[*jsonschema.Schema]bool{}) {
		return nil, nil
	}
	w := walk{above: map[*jsonschema.Schema]bool{}}
	err := w.add(s, nil)
	return w.rules, err
}

// declares reports whether a schema has rules. It visits each schema once.
func declares(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if len(schemas.Validations(s)) > 0 || declares(s.Ref, seen) {
		return true
	}
	for _, sub := range s.AllOf {
		if declares(sub, seen) {
			return true
		}
	}
	for _, sub := range s.Properties {
		if declares(sub, seen) {
			return true
		}
	}
	return false
}

// walk collects the rules of a schema.
type walk struct {
	rules Rules
	above map[*jsonschema.Schema]bool
	steps int
}

func (w *walk) add(s *jsonschema.Schema, path []string) error {
	if s == nil || w.above[s] {
		return nil
	}
	if w.steps++; w.steps > maxRuleSteps || len(path) > maxRuleDepth {
		return fmt.Errorf("the schema with rules has more than %d subschemas, or nests deeper than %d", maxRuleSteps, maxRuleDepth)
	}
	w.above[s] = true
	defer delete(w.above, s)
	for _, v := range schemas.Validations(s) {
		if len(w.rules) == maxRules {
			return fmt.Errorf("the schema has more than %d rules", maxRules)
		}
		r, err := compileRule(v, path)
		if err != nil {
			return err
		}
		w.rules = append(w.rules, r)
	}
	for _, sub := range append([]*jsonschema.Schema{s.Ref}, s.AllOf...) {
		if err := w.add(sub, path); err != nil {
			return err
		}
	}
	for _, key := range sortedKeys(s.Properties) {
		if err := w.add(s.Properties[key], append(slices.Clone(path), key)); err != nil {
			return err
		}
	}
	return nil
}

func compileRule(v schemas.Validation, path []string) (Rule, error) {
	r := Rule{Validation: v, Path: path}
	env, err := ruleEnvironment()
	if err != nil {
		return r, err
	}
	ast, err := fleet.CheckExpression(env, v.Rule, cel.BoolType, cel.DynType)
	if err == nil {
		r.program, err = program(env, ast)
	}
	if err != nil {
		err = fmt.Errorf("the rule %q: %w", shorten(v.Rule), err)
	}
	return r, err
}

func shorten(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "..."
	}
	return text
}

// Broken is a rule that does not hold.
type Broken struct {
	Path []string
	// Message says which.
	Message string
}

// Check returns the rules that data breaks. A rule about a value that does not exist holds. One that cannot be evaluated is broken.
func (rules Rules) Check(data any) []Broken {
	var broken []Broken
	var cost uint64
	for _, r := range rules {
		self, ok := at(data, r.Path)
		if !ok {
			continue
		}
		result, details, err := r.program.Eval(map[string]any{"self": plain(self)})
		if details != nil && details.ActualCost() != nil {
			cost += *details.ActualCost()
		}
		switch {
		case cost > fleet.MaxFormulaCost:
			return append(broken, Broken{r.Path, ErrCost.Error()})
		case err != nil:
			broken = append(broken, Broken{r.Path, fmt.Sprintf("breaks the rule %q, which cannot be evaluated: %v", shorten(r.Rule), explain(err))})
		case result != types.True && r.Message != "":
			broken = append(broken, Broken{r.Path, "breaks a rule: " + r.Message})
		case result != types.True:
			broken = append(broken, Broken{r.Path, fmt.Sprintf("breaks the rule %q", shorten(r.Rule))})
		}
	}
	return broken
}

// at returns the value at a path of nested maps.
func at(data any, path []string) (any, bool) {
	for _, step := range path {
		fields, ok := data.(map[string]any)
		if !ok {
			return nil, false
		}
		if data, ok = fields[step]; !ok {
			return nil, false
		}
	}
	return data, true
}

// plain converts the numbers of JSON to those of CEL.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, field := range v {
			fields[key] = plain(field)
		}
		return fields
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = plain(item)
		}
		return items
	case json.Number:
		if n, ok := new(big.Int).SetString(v.String(), 10); ok && n.IsInt64() {
			return n.Int64()
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	}
	return v
}
