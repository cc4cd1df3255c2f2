package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Explanation says why a target is, or is not, on each cluster type, and how it is configured there.
type Explanation struct {
	Environment string `json:"environment"`
	Target      string `json:"target"`
	// Pairs has one entry for each requested cluster type, sorted by name.
	Pairs []Pair `json:"pairs"`
	// Findings are what the checks report about the files of these pairs.
	Findings []check.Finding `json:"findings,omitempty"`
}

// Pair is the target on one cluster type.
type Pair struct {
	placement.Explanation
	// Held says why the assignment cannot be rendered; nil when it can, or when there is none.
	Held *fleet.Problem `json:"held,omitempty"`
	// Config are the keys of its platform configuration that were asked for, with their origin.
	Config []config.Key `json:"config,omitempty"`
	// OtherKeys are the keys that there are, when none is the one that was asked for.
	OtherKeys []string `json:"otherKeys,omitempty"`
}

// Explain explains a target of an unpublished draft, given as "<workload>/<short name>" or by its full name, on one
// cluster type, or on all of them if that is empty. key limits the configuration to a key and the keys below it;
// empty means none, "*" all.
func Explain(draft *Draft, target, clusterType, key string) (*Explanation, error) {
	b, snapshot := draft.Bundle, draft.Loaded.Snapshot
	clusterTypes := []string{clusterType}
	if clusterType == "" {
		clusterTypes = clusterTypes[:0]
		for _, ct := range snapshot.ClusterTypes {
			clusterTypes = append(clusterTypes, ct.Name)
		}
	}
	if len(clusterTypes) == 0 {
		return nil, fmt.Errorf("environment %q has no cluster type", snapshot.Environment)
	}
	e := &Explanation{Environment: snapshot.Environment}
	files := map[string][]byte{}
	for _, name := range clusterTypes {
		reasons, err := b.Decisions.Explain(target, name)
		if err != nil {
			return nil, err
		}
		e.Target = reasons.Target
		e.Pairs = append(e.Pairs, explainPair(b, reasons, key))
		if a, ok := b.Assignment(name, reasons.Target); ok {
			for _, f := range a.Files {
				files[f.Path] = f.Content
			}
		}
	}
	if len(files) == 0 {
		return e, nil
	}
	policy, _ := check.PolicyOf(snapshot)
	checker, err := check.New(policy)
	if err != nil {
		return nil, fmt.Errorf("prepare the checks: %w", err)
	}
	e.Findings = checker.Check(files)
	return e, nil
}

func explainPair(b *bundle.Bundle, reasons placement.Explanation, key string) Pair {
	// The policy that comes nearest tells most about what is missing.
	slices.SortStableFunc(reasons.Policies, func(a, b placement.PolicyReason) int {
		return cmp.Compare(len(a.Failed), len(b.Failed))
	})
	p := Pair{Explanation: reasons}
	a, ok := b.Assignment(reasons.ClusterType, reasons.Target)
	if !ok {
		return p
	}
	p.Held = a.Held
	if a.Config == nil {
		return p
	}
	for _, k := range a.Config.Keys {
		if matchesKey(k.Path, key) {
			p.Config = append(p.Config, k)
		}
	}
	if len(p.Config) == 0 && key != "" {
		p.OtherKeys = topKeys(a.Config)
	}
	return p
}

// topKeys returns the keys of a configuration without what lies below them.
func topKeys(c *config.Composed) []string {
	var keys []string
	for _, k := range c.Keys {
		top := k.Path
		if i := strings.IndexAny(top, ".["); i > 0 {
			top = top[:i]
		}
		keys = append(keys, top)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// matchesKey reports whether a path is the key that was asked for, or lies below it.
func matchesKey(path, key string) bool {
	if key == "" {
		return false
	}
	rest, ok := strings.CutPrefix(path, key)
	return key == "*" || ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
