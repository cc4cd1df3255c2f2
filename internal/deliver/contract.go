package deliver

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// Need is what a workload needs of the platform's configuration on a cluster type, by its schemas.
// What is missing never stops an application: both teams work at their own pace.
type Need struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	// Schemas are the ConfigSchemas that apply, sorted.
	Schemas []string `json:"schemas"`
	// Needs are the values that they ask for, sorted, and whether the platform gives them.
	Needs []NeededValue `json:"needs"`
	// Problems are what else is wrong with the values that are there.
	Problems []fleet.Problem `json:"problems,omitempty"`
}

// NeededValue is a value that a schema asks for.
type NeededValue struct {
	Key      string `json:"key"`
	Required bool   `json:"required,omitempty"`
	Given    bool   `json:"given"`
	// From is where the platform team writes it; of a map or list, where the first of its values is.
	From fleet.Position `json:"from,omitzero"`
}

// Missing are the keys that are required and not given.
func (n Need) Missing() []string {
	var keys []string
	for _, v := range n.Needs {
		if v.Required && !v.Given {
			keys = append(keys, v.Key)
		}
	}
	return keys
}

// Contract says what a workload needs on each cluster type that the platform assigned its targets to,
// by cluster type and target. Assignments without a schema need nothing and are left out.
func Contract(s *fleet.Snapshot, workload string) []Need {
	b := bundle.Build(s, nil, nil)
	schemas := map[string]*fleet.Schema{}
	for _, schema := range s.Schemas {
		schemas[schema.Name] = schema
	}
	var needs []Need
	for _, folder := range b.Folders {
		for i := range folder.Assignments {
			a := &folder.Assignments[i]
			if a.Workload != workload || a.Sources == nil {
				continue
			}
			n := Need{Environment: s.Environment, ClusterType: a.ClusterType, Target: a.Target}
			for _, ref := range a.Sources.Refs {
				if schema := schemas[ref.Name]; ref.Kind == "ConfigSchema" && schema != nil {
					n.Schemas = append(n.Schemas, ref.Name)
					n.ask(schema, a.Config)
				}
			}
			if len(n.Schemas) == 0 {
				continue
			}
			n.Problems = problemsWith(b, a.Name())
			slices.SortFunc(n.Needs, func(a, b NeededValue) int { return cmp.Compare(a.Key, b.Key) })
			needs = append(needs, n)
		}
	}
	return needs
}

// problemsWith are those of an assignment's configuration, without what is missing.
func problemsWith(b *bundle.Bundle, assignment string) []fleet.Problem {
	var problems []fleet.Problem
	for _, p := range b.Problems {
		if p.Assignment == assignment && (p.Kind == fleet.KindConfigValue || p.Kind == fleet.KindConfigSchema) {
			problems = append(problems, p)
		}
	}
	return problems
}

// ask adds what a schema asks for at its top level.
func (n *Need) ask(schema *fleet.Schema, composed *config.Composed) {
	document, _ := schema.Document.(map[string]any)
	properties, _ := document["properties"].(map[string]any)
	required, _ := document["required"].([]any)
	keys := map[string]bool{}
	for key := range properties {
		keys[key] = false
	}
	for _, key := range required {
		if text, ok := key.(string); ok {
			keys[text] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		v := NeededValue{Key: key, Required: keys[key]}
		if composed != nil {
			_, v.Given = composed.Data[key]
			of := func(k config.Key) bool {
				below, ok := strings.CutPrefix(k.Path, key)
				return ok && (below == "" || below[0] == '.' || below[0] == '[')
			}
			if i := slices.IndexFunc(composed.Keys, of); i >= 0 {
				v.From = composed.Keys[i].From.Position
			}
		}
		if i := slices.IndexFunc(n.Needs, func(o NeededValue) bool { return o.Key == key }); i >= 0 {
			n.Needs[i].Required = n.Needs[i].Required || v.Required
			continue
		}
		n.Needs = append(n.Needs, v)
	}
}
