package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// Explanation explains why a target is or is not assigned to each cluster type, and how it is configured there.
type Explanation struct {
	Version     int    `json:"version"`
	Environment string `json:"environment"`
	// WhatIf are the imagined changes of the control plane; absent for what it is.
	WhatIf []string `json:"whatIf,omitempty"`
	// Inputs are the commits that it was read at. A plain folder has none.
	Inputs []Input `json:"inputs,omitempty"`
	Target string  `json:"target"`
	// Pairs has one entry for each requested cluster type, sorted by name.
	Pairs []Pair `json:"pairs"`
	// Unreadable are the objects that could change the answer and cannot be used, with the reason.
	Unreadable []fleet.Problem `json:"unreadable,omitempty"`
	// Findings are those about the files of these pairs.
	Findings []check.Finding `json:"findings,omitempty"`
}

// Pair is the target on one cluster type.
type Pair struct {
	placement.Explanation
	// Cluster is the requested cluster; empty if a cluster type was requested.
	Cluster string `json:"cluster,omitempty"`
	// Folder is where the files are: that of the cluster type, or of a cluster with values of its own.
	Folder string `json:"folder"`
	// Held explains why the assignment cannot be rendered or removed; nil if it can be, or does not exist.
	Held *fleet.Problem `json:"held,omitempty"`
	// Published means that a held assignment is on the GitOps branch, and stays as it is there.
	Published bool `json:"published,omitempty"`
	// Roles are the ClusterRoles that the assignment has because of grants, and Secrets those of other namespaces that its reconciler sends to
	// the application's repository.
	Roles   []plan.Role   `json:"roles,omitempty"`
	Secrets []plan.Secret `json:"secrets,omitempty"`
	// Config are the requested keys of its platform configuration, with their origins.
	Config []config.Key `json:"config,omitempty"`
	// OtherKeys are the existing keys if the requested one is not among them.
	OtherKeys []string `json:"otherKeys,omitempty"`
}

// Question is what [Explain] explains.
type Question struct {
	// Target is the name of a deployment target, or "<workload>/<short name>". // required
	Target string
	// ClusterType is a cluster type; empty means all.
	ClusterType string
	// Cluster is a cluster with a Cluster object, instead of a cluster type.
	Cluster string
	// Key limits the configuration to a key and the keys below it; empty means none, "*" all.
	Key string
}

// Explain explains a target of a draft. Errors other than those of checks are unknown names.
func Explain(draft *Draft, q Question) (*Explanation, error) {
	b, snapshot := draft.Bundle, draft.Loaded.Snapshot
	target := q.Target
	clusterTypes := []string{q.ClusterType}
	if q.Cluster != "" {
		cluster := snapshot.Cluster(q.Cluster)
		if cluster == nil {
			return nil, unknownCluster(snapshot, q.Cluster)
		}
		clusterTypes[0] = cluster.Type
	}
	if clusterTypes[0] == "" {
		clusterTypes = draft.clusterTypes(target)
	}
	if len(clusterTypes) == 0 {
		return nil, fmt.Errorf("environment %q has no cluster type", snapshot.Environment)
	}
	checker, err := draft.checker()
	if err != nil {
		return nil, err
	}
	e := &Explanation{Version: OutputVersion, Environment: snapshot.Environment, WhatIf: draft.WhatIf, Inputs: draft.Loaded.Inputs.public(), Unreadable: undecided(snapshot)}
	files := map[string][]byte{}
	for _, name := range clusterTypes {
		reasons, err := b.Decisions.Explain(target, name)
		if kept := draft.kept(target, name); err != nil && kept != nil {
			reasons, err = placement.Explanation{Target: kept.Target, ClusterType: name, Policies: []placement.PolicyReason{}}, nil
		}
		if err != nil {
			if environment := elsewhere(snapshot, target); environment != "" && !b.Decisions.Has(target) {
				return nil, fmt.Errorf("no target %q in environment %q: it is for environment %q", target, snapshot.Environment, environment)
			}
			return nil, unknownName(err, e.Unreadable)
		}
		e.Target = reasons.Target
		pair := Pair{Explanation: reasons, Cluster: q.Cluster, Folder: name}
		if folder := fleet.ClusterFolder(q.Cluster); q.Cluster != "" && b.Folder(folder) != nil {
			pair.Folder = folder
		}
		e.Pairs = append(e.Pairs, pair.explain(b, q.Key))
		if checker.Hides() {
			for i, k := range e.Pairs[len(e.Pairs)-1].Config {
				e.Pairs[len(e.Pairs)-1].Config[i] = redacted(k)
			}
		}
		if a, ok := b.Assignment(pair.Folder, reasons.Target); ok {
			for _, f := range a.Files {
				if f.Written() { // what stays as published was checked when it was added
					files[f.Path] = f.Content()
				}
			}
		}
	}
	e.Unreadable = fleet.SortProblems(append(e.Unreadable, namesakes(snapshot, e.Target)...))
	if len(files) == 0 {
		return e, nil
	}
	e.Findings = checker.Check(maps.All(files))
	return e, nil
}

// clusterTypes returns the cluster types, and those on which the target is published and stays although they cannot be read, sorted.
func (d *Draft) clusterTypes(target string) []string {
	var names []string
	for _, ct := range d.Loaded.Snapshot.ClusterTypes {
		names = append(names, ct.Name)
	}
	for _, f := range d.Bundle.Folders {
		if f.Cluster == "" && d.kept(target, f.Name) != nil {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// kept returns the assignment of a target, given by either name, that stays on a cluster type; nil if there is none.
func (d *Draft) kept(target, clusterType string) *bundle.Assignment {
	if workload, short, ok := strings.Cut(target, "/"); ok {
		target = fleet.TargetName(workload, short)
	}
	if a, ok := d.Bundle.Assignment(clusterType, target); ok && a.Held != nil {
		return a
	}
	return nil
}

// undecided returns why objects that decide about assignments cannot be used.
func undecided(s *fleet.Snapshot) []fleet.Problem {
	var found []fleet.Problem
	for _, u := range s.Unreadable {
		switch u.Ref.Kind {
		case "SchedulingPolicy", "Workload", "WorkloadRegistration", "DeploymentTarget", "ClusterType", "":
		default:
			continue
		}
		p := fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindHeld, Object: u.Ref, Position: u.Position, Message: "it cannot be read",
		}
		for _, known := range s.Problems {
			if known.Severity == fleet.SeverityError && known.Object == u.Ref && known.Position.Source == u.Position.Source && known.Position.File == u.Position.File {
				p = known
				break
			}
		}
		found = append(found, p)
	}
	for _, p := range s.Problems {
		if p.Kind == fleet.KindUnreachable && p.Position.Source == "gitops" {
			found = append(found, p)
		}
	}
	return fleet.SortProblems(found)
}

// namesakes returns the problems of other targets with the same name, which are not scheduled.
func namesakes(s *fleet.Snapshot, target string) []fleet.Problem {
	var found []fleet.Problem
	for _, p := range s.Problems {
		if p.Kind == fleet.KindDuplicate && p.Object == (fleet.Ref{Kind: "DeploymentTarget", Name: target}) {
			found = append(found, p)
		}
	}
	return found
}

// elsewhere returns the environment of a target of another environment; empty if there is none of that name.
func elsewhere(s *fleet.Snapshot, target string) string {
	if environment := s.Elsewhere[target]; environment != "" {
		return environment
	}
	for _, name := range slices.Sorted(maps.Keys(s.Elsewhere)) {
		if workload, short, _ := strings.Cut(name, "/"); fleet.TargetName(workload, short) == target {
			return s.Elsewhere[name]
		}
	}
	return ""
}

// unknownName adds to the error for an unknown name that it may be among what cannot be read.
func unknownName(err error, unreadable []fleet.Problem) error {
	for _, p := range unreadable {
		if p.Object.Kind == "SchedulingPolicy" {
			continue
		}
		what := p.Message
		if p.Object != (fleet.Ref{}) {
			what = p.Object.String() + ": " + what
		}
		return fmt.Errorf("%w; but not everything could be read: %s: %s", err, p.Position, what)
	}
	return err
}

// unknownCluster explains why there is no usable Cluster with a name.
func unknownCluster(s *fleet.Snapshot, name string) error {
	for _, u := range s.Unreadable {
		if u.Ref == (fleet.Ref{Kind: "Cluster", Name: name}) {
			return fmt.Errorf("cluster %q: %s cannot be used (%s)", name, u.Ref, u.Position)
		}
	}
	names := make([]string, len(s.Clusters))
	for i, c := range s.Clusters {
		names[i] = c.Name
	}
	if near := fleet.Nearest(name, names); near != "" {
		return fmt.Errorf("environment %q has no Cluster %q; did you mean %q?", s.Environment, name, near)
	}
	return fmt.Errorf("environment %q has no Cluster %q: a cluster without one has what its cluster type has", s.Environment, name)
}

// explain adds the configuration of the pair.
func (p Pair) explain(b *bundle.Bundle, key string) Pair {
	// The policy with the fewest failed conditions explains best what is missing.
	slices.SortStableFunc(p.Policies, func(a, b placement.PolicyReason) int {
		return cmp.Compare(len(a.Failed), len(b.Failed))
	})
	a, ok := b.Assignment(p.Folder, p.Target)
	if !ok {
		return p
	}
	p.Held, p.Published = a.Held, a.Held != nil && len(a.Files) > 0
	p.Roles, p.Secrets = plan.RightsOf(a.Files, render.Namespace(b.Environment, a.ClusterType, a.Target))
	if a.Config == nil {
		return p
	}
	for _, k := range a.Config.Keys() {
		if matchesKey(k.Path, key) {
			p.Config = append(p.Config, k)
		}
	}
	if len(p.Config) == 0 && key != "" {
		p.OtherKeys = topKeys(a.Config)
	}
	return p
}

// checker returns the checker of the environment's policy.
func (d *Draft) checker() (*check.Checker, error) {
	policy, _ := check.PolicyOf(d.Loaded.Snapshot)
	checker, err := check.New(policy.At(d.Loaded.Inputs.Newest()))
	if err != nil {
		return nil, fmt.Errorf("prepare the checks: %w", err)
	}
	return checker, nil
}

// Shown returns a function for what a user is shown of a key of the draft's configurations: without credentials, unless the environment's
// policy allows to show them.
func (d *Draft) Shown() (func(config.Key) config.Key, error) {
	checker, err := d.checker()
	if err != nil {
		return nil, err
	}
	if checker.Hides() {
		return redacted, nil
	}
	return func(k config.Key) config.Key { return k }, nil
}

// redacted returns a key without credentials.
func redacted(k config.Key) config.Key {
	k.Value, k.Expression, k.Over = check.RedactValue(k.Path, k.Value), check.RedactValue(k.Path, k.Expression), slices.Clone(k.Over)
	for i := range k.Over {
		k.Over[i].Value = check.RedactValue(k.Path, k.Over[i].Value)
	}
	return k
}

// topKeys returns the top-level keys of a configuration.
func topKeys(c *config.Composed) []string {
	var keys []string
	for _, k := range c.Keys() {
		top := k.Path
		if i := strings.IndexAny(top, ".["); i > 0 {
			top = top[:i]
		}
		keys = append(keys, top)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// matchesKey reports whether a path is the requested key, or below it.
func matchesKey(path, key string) bool {
	if key == "" {
		return false
	}
	rest, ok := strings.CutPrefix(path, key)
	return key == "*" || ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
