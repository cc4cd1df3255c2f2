package deliver

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Need describes which platform configuration a workload needs on a cluster type, according to its schemas. Missing
// values never block an application, because platform and application teams work independently.
type Need struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	// Schemas are the ConfigSchemas that apply, sorted.
	Schemas []string `json:"schemas"`
	// Needs are the values that the schemas define, sorted, and whether the platform sets them.
	Needs []NeededValue `json:"needs"`
	// Problems are other problems with the values that are set.
	Problems []fleet.Problem `json:"problems,omitempty"`
}

// NeededValue is a value that a schema defines.
type NeededValue struct {
	Key      string `json:"key"`
	Required bool   `json:"required,omitempty"`
	Given    bool   `json:"given"`
	// Editors are the users and groups that may set it; empty if everyone may who may change the file.
	Editors []string `json:"editors,omitempty"`
	// From is where the platform team sets it; for a map or list, where its first value is set.
	From fleet.Position `json:"from,omitzero"`
}

// Missing returns the keys that are required and not set.
func (n Need) Missing() []string {
	var keys []string
	for _, v := range n.Needs {
		if v.Required && !v.Given {
			keys = append(keys, v.Key)
		}
	}
	return keys
}

// withoutCharts takes all charts of templates as rendered: the contract is about configuration only.
func withoutCharts(job *chart.Job) *chart.Result {
	_, result := job.Rest(nil)
	for i := range result.Targets {
		result.Targets[i].Manifests = &chart.Manifests{}
	}
	return result
}

// Contract returns what a workload needs on each cluster type that the platform assigned its targets to, by cluster
// type and target. It leaves out assignments without a schema.
func Contract(s *fleet.Snapshot, decisions *placement.Decisions, workload string) []Need {
	types := *s
	types.Clusters = nil // what they have in addition to their types is not needed for them to work
	b := bundle.BuildWith(&types, nil, nil, bundle.Options{Charts: withoutCharts, Decisions: decisions, Workload: workload})
	schemas := map[string]*fleet.Schema{}
	for _, schema := range s.Schemas {
		schemas[schema.Name] = schema
	}
	var needs []Need
	for _, folder := range b.Folders {
		for i := range folder.Assignments {
			a := &folder.Assignments[i]
			if a.Sources == nil {
				continue
			}
			n := Need{Environment: s.Environment, ClusterType: a.ClusterType, Target: a.Target}
			for _, ref := range a.Sources.Refs() {
				if schema := schemas[ref.Name]; ref.Kind == "ConfigSchema" && schema != nil {
					n.Schemas = append(n.Schemas, ref.Name)
					n.add(schema, a.Config)
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

// problemsWith returns the problems of an assignment's configuration, except for missing values.
func problemsWith(b *bundle.Bundle, assignment string) []fleet.Problem {
	var problems []fleet.Problem
	for _, p := range b.Problems {
		if p.Assignment == assignment && (p.Kind == fleet.KindConfigValue || p.Kind == fleet.KindConfigSchema) {
			problems = append(problems, p)
		}
	}
	return problems
}

// add adds the top-level values that a schema defines.
func (n *Need) add(schema *fleet.Schema, composed *config.Composed) {
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
	var placed []config.Key
	if composed != nil {
		placed = composed.Keys()
	}
	editors := config.Editors(schema, slices.Collect(maps.Keys(keys)))
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		v := NeededValue{Key: key, Required: keys[key], Editors: editors[key]}
		if composed != nil {
			_, v.Given = composed.Data[key]
			of := func(k config.Key) bool {
				below, ok := strings.CutPrefix(k.Path, key)
				return ok && (below == "" || below[0] == '.' || below[0] == '[')
			}
			if i := slices.IndexFunc(placed, of); i >= 0 {
				v.From = placed[i].From.Position
			}
		}
		if i := slices.IndexFunc(n.Needs, func(o NeededValue) bool { return o.Key == key }); i >= 0 {
			n.Needs[i].Required = n.Needs[i].Required || v.Required
			if len(n.Needs[i].Editors) == 0 {
				n.Needs[i].Editors = v.Editors
			}
			continue
		}
		n.Needs = append(n.Needs, v)
	}
}
