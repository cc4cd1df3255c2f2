package query

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// ConfigComparison is how the platform configuration of two environments differs, for the targets that both have on cluster types
// of the same name. The only target of a workload in one environment is compared with its only one in the other, whatever their names.
type ConfigComparison struct {
	// Differences are sorted by key, at most 200; Left is how many more there are.
	Differences []ConfigDifference `json:"differences"`
	Left        int                `json:"left,omitempty"`
	// Assignments is how many were compared, and Skipped how many were not, because the environments have too many different configurations.
	Assignments int `json:"assignments"`
	Skipped     int `json:"skipped,omitempty"`
}

// ConfigDifference is a value that differs. Assignments with the same difference, from the same layers, are one.
type ConfigDifference struct {
	Key string `json:"key"`
	// A and B are absent if the environment has no value.
	A *ConfigValue `json:"a,omitempty"`
	B *ConfigValue `json:"b,omitempty"`
	// Assignments is how many have this difference. ClusterType, Workload and Target are the first of them.
	Assignments int    `json:"assignments"`
	ClusterType string `json:"clusterType"`
	Workload    string `json:"workload"`
	Target      string `json:"target"` // the name within the workload
}

// ConfigValue is a value with its layers.
type ConfigValue struct {
	Value string `json:"value"`
	// Expression computed the value; absent for others.
	Expression string `json:"expression,omitempty"`
	// From is the layer that won, and Over what it overrides.
	From config.Layer        `json:"from"`
	Over []config.Overridden `json:"over,omitempty"`
}

// Limits of a comparison. Each pair of configurations is merged once, which takes the time.
const (
	maxConfigPairs       = 2000
	maxConfigDifferences = 200
)

// configPair are the configurations of an assignment in two environments. Assignments share configurations.
type configPair struct{ a, b *config.Composed }

// compareConfig compares the configurations of two rounds; nil if one of them is not known.
func compareConfig(ctx context.Context, a, b *Scheduled) (*ConfigComparison, error) {
	was, is := a.draft(), b.draft()
	if was == nil || is == nil {
		return nil, nil //nolint:nilnil // nothing is known, which is no error
	}
	shownA, err := was.Shown()
	if err != nil {
		return nil, err
	}
	shownB, err := is.Shown()
	if err != nil {
		return nil, err
	}
	c := &ConfigComparison{Differences: []ConfigDifference{}}
	differences := map[configPair][]ConfigDifference{}
	found := map[string]*ConfigDifference{}
	for p, at := range configPairs(was, is) {
		known, ok := differences[p]
		if !ok {
			if len(differences) == maxConfigPairs {
				c.Skipped++
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for _, keys := range differing(p.a.Keys(), p.b.Keys()) {
				known = append(known, keys.difference(shownA, shownB))
			}
			differences[p] = known
		}
		c.Assignments++
		for _, d := range known {
			id := key(d.Key, d.A.id(), d.B.id())
			if found[id] == nil {
				d.ClusterType, d.Workload, d.Target = at.ClusterType, at.Workload, at.Target
				found[id] = &d
			}
			found[id].Assignments++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if len(c.Differences) == maxConfigDifferences {
			c.Left = len(found) - maxConfigDifferences
			break
		}
		c.Differences = append(c.Differences, *found[id])
	}
	return c, nil
}

// draft returns the draft of the round; nil if there is none.
func (s *Scheduled) draft() *schedule.Draft {
	if s == nil {
		return nil
	}
	return s.Outcome.Draft()
}

// configPairs yields the configurations of the targets that both environments have on a cluster type, in a fixed order.
func configPairs(a, b *schedule.Draft) func(yield func(configPair, AssignmentDifference) bool) {
	names := map[string]string{} // of the second environment's targets, by workload and name within it
	for _, t := range b.Loaded.Snapshot.Targets {
		names[key(t.Workload, t.ShortName)] = t.Name
	}
	only, other := onlyTargets(a), onlyTargets(b)
	return func(yield func(configPair, AssignmentDifference) bool) {
		for _, t := range a.Loaded.Snapshot.Targets {
			name := names[key(t.Workload, t.ShortName)]
			if name == "" && only[t.Workload] == t.Name {
				name = other[t.Workload]
			}
			if name == "" {
				continue
			}
			for _, ct := range a.Loaded.Snapshot.ClusterTypes {
				p := configPair{composedOf(a.Bundle, ct.Name, t.Name), composedOf(b.Bundle, ct.Name, name)}
				if p.a == nil || p.b == nil || p.a == p.b {
					continue
				}
				if !yield(p, AssignmentDifference{ClusterType: ct.Name, Workload: t.Workload, Target: t.ShortName}) {
					return
				}
			}
		}
	}
}

// onlyTargets returns the names of the targets that are the only ones of their workloads, by workload.
func onlyTargets(d *schedule.Draft) map[string]string {
	only := map[string]string{}
	for _, t := range d.Loaded.Snapshot.Targets {
		if _, several := only[t.Workload]; several {
			only[t.Workload] = ""
		} else {
			only[t.Workload] = t.Name
		}
	}
	return only
}

// composedOf returns the configuration of an assignment; nil if there is none.
func composedOf(b *bundle.Bundle, clusterType, target string) *config.Composed {
	if a, ok := b.Assignment(clusterType, target); ok {
		return a.Config
	}
	return nil
}

// keyPair is a key in two configurations; nil where it is not set.
type keyPair struct{ a, b *config.Key }

// differing returns the keys whose values differ. Both lists are sorted by path.
func differing(a, b []config.Key) []keyPair {
	var all []keyPair
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = cmp.Compare(a[0].Path, b[0].Path)
		}
		switch {
		case order < 0:
			all, a = append(all, keyPair{a: &a[0]}), a[1:]
		case order > 0:
			all, b = append(all, keyPair{b: &b[0]}), b[1:]
		default:
			if a[0].Value != b[0].Value {
				all = append(all, keyPair{&a[0], &b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return all
}

// difference returns what is shown of the keys, which were compared with their values.
func (p keyPair) difference(a, b func(config.Key) config.Key) ConfigDifference {
	return ConfigDifference{Key: cmp.Or(p.a, p.b).Path, A: configValue(p.a, a), B: configValue(p.b, b)}
}

func configValue(k *config.Key, shown func(config.Key) config.Key) *ConfigValue {
	if k == nil {
		return nil
	}
	s := shown(*k)
	return &ConfigValue{Value: s.Value, Expression: s.Expression, From: s.From, Over: s.Over}
}

// id identifies a value and the layer that won.
func (v *ConfigValue) id() string {
	if v == nil {
		return ""
	}
	return key("+"+v.Value, v.From.ConfigMap, v.From.Position.Source, v.From.Position.String())
}
