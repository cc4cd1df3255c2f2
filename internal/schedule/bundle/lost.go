package bundle

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// lost determines what is unknown because something could not be read.
type lost struct {
	// refs are the objects that exist but cannot be used. Workloads and targets of different owners can have the same name.
	refs map[fleet.Ref][]fleet.Unreadable
	// unmarked are ConfigMaps that are not platform configuration any more.
	unmarked map[fleet.Ref]fleet.Unreadable
	// file is a file whose objects are unknown; nil if there is none.
	file *fleet.Unreadable
	// templates is a file that may define templates; nil if there is none.
	templates *fleet.Unreadable
	// nameless are objects with an unknown name, by kind.
	nameless map[string]fleet.Unreadable
	// present are the objects of the snapshot that an inventory refers to; only set if file or nameless are.
	present map[fleet.Ref]bool
	// exclusion is a policy that may exclude pairs, and cannot be read; nil if there is none.
	exclusion *fleet.Unreadable
	// digest identifies all of the above.
	digest fleet.Digest
}

func newLost(s *fleet.Snapshot) lost {
	l := lost{exclusion: s.LostExclusion, refs: map[fleet.Ref][]fleet.Unreadable{}, nameless: map[string]fleet.Unreadable{}}
	var d digester
	for i, u := range s.Unreadable {
		if u.Ref == (fleet.Ref{}) && l.file == nil {
			l.file = &s.Unreadable[i]
		}
		if u.Ref == (fleet.Ref{}) && !u.NoTemplate && l.templates == nil {
			l.templates = &s.Unreadable[i]
		}
		l.refs[u.Ref] = append(l.refs[u.Ref], u)
		if u.Nameless {
			l.nameless[u.Ref.Kind] = u
		}
		d.ref(u.Ref)
		d.position(u.Position)
		d.texts(strconv.FormatBool(u.NoTemplate), strconv.FormatBool(u.NoExclusion), u.Owner.Workspace, u.Owner.Registration)
	}
	for _, u := range s.Unmarked {
		if l.unmarked == nil {
			l.unmarked = map[fleet.Ref]fleet.Unreadable{}
		}
		l.unmarked[u.Ref] = u
		d.ref(u.Ref)
		d.position(u.Position)
	}
	if l.file != nil || len(l.nameless) > 0 {
		l.addPresent(s, &d)
	}
	l.digest = d.sum()
	return l
}

// addPresent records which objects exist. This matters only if it is unknown which other objects should exist.
func (l *lost) addPresent(s *fleet.Snapshot, d *digester) {
	l.present = map[fleet.Ref]bool{}
	add := func(ref fleet.Ref) {
		l.present[ref] = true
		d.ref(ref)
	}
	for _, c := range s.Configs {
		add(configRef(c.Name))
	}
	for _, t := range s.Templates {
		add(templateRef(t.Name))
	}
	for _, sch := range s.Schemas {
		add(schemaRef(sch.Name))
	}
	for _, p := range s.Policies {
		add(policyRef(p.Name))
	}
	for _, g := range s.Grants {
		add(grantRef(g.Name))
	}
	for _, c := range s.ClusterTypes {
		add(fleet.Ref{Kind: "ClusterType", Name: c.Name})
	}
	for _, c := range s.Clusters {
		add(clusterRef(c.Name))
	}
	for _, t := range s.Targets {
		add(fleet.Ref{Kind: "DeploymentTarget", Name: t.Name})
		add(fleet.Ref{Kind: "Workload", Name: t.Workload})
		add(fleet.Ref{Kind: "WorkloadRegistration", Name: t.Registration})
	}
}

func configRef(name string) fleet.Ref   { return fleet.Ref{Kind: "ConfigMap", Name: name} }
func templateRef(name string) fleet.Ref { return fleet.Ref{Kind: "Template", Name: name} }
func schemaRef(name string) fleet.Ref   { return fleet.Ref{Kind: "ConfigSchema", Name: name} }
func grantRef(name string) fleet.Ref    { return fleet.Ref{Kind: "Grant", Name: name} }
func clusterRef(name string) fleet.Ref  { return fleet.Ref{Kind: "Cluster", Name: name} }
func policyRef(name string) fleet.Ref   { return fleet.Ref{Kind: "SchedulingPolicy", Name: name} }

// contents explains why the contents of a published assignment must not change: something that it was made from
// cannot be read. It returns nil if everything that it was made from is known.
func (l *lost) contents(published *Assignment) *fleet.Problem {
	if len(l.refs) == 0 || published == nil {
		return nil
	}
	if published.Sources == nil {
		if l.file == nil {
			return nil
		}
		return withheld(published, "what it was made from is not recorded, and a file that may be part of it cannot be read", *l.file)
	}
	for _, ref := range published.Sources.Refs() {
		if u, ok := l.unreadable(ref, published); ok {
			return withheld(published, madeFrom(ref)+", which cannot be read", u)
		}
		if u, why := l.gone(ref); u != nil {
			return withheld(published, madeFrom(ref)+", which is gone, and "+why, *u)
		}
	}
	return nil
}

// unlabelled explains why the contents of a published assignment must not change: a ConfigMap that it was made from lost the label
// that makes it platform configuration. It returns nil if none did.
func (l *lost) unlabelled(published *Assignment) *fleet.Problem {
	if len(l.unmarked) == 0 || published == nil || published.Sources == nil {
		return nil
	}
	for _, ref := range published.Sources.Refs() {
		if u, ok := l.unmarked[ref]; ok {
			problem := withheld(published, madeFrom(ref)+", which has no label "+fleet.ConfigLabel+" any more", u)
			problem.Hint = fmt.Sprintf("write %s: \"true\"; or \"false\" if it is not platform configuration any more", fleet.ConfigLabel)
			return problem
		}
	}
	return nil
}

func madeFrom(ref fleet.Ref) string {
	if ref.Kind == "ConfigSchema" {
		return "it was checked with " + ref.String()
	}
	return "it was made from " + ref.String()
}

// unreadable returns an object that a published assignment depends on, if it cannot be read.
func (l *lost) unreadable(ref fleet.Ref, published *Assignment) (fleet.Unreadable, bool) {
	for _, u := range l.refs[ref] {
		if published.Workload == "" || u.Concerns(published.owner()) {
			return u, true
		}
	}
	return fleet.Unreadable{}, false
}

// gone returns the unreadable object or file that may define a missing object, and the reason. It returns nil if the
// object is there or certainly gone.
func (l *lost) gone(ref fleet.Ref) (*fleet.Unreadable, string) {
	if ref.Name == "" || l.present[ref] {
		return nil, ""
	}
	if u, ok := l.nameless[ref.Kind]; ok {
		return &u, fmt.Sprintf("a %s that may be it has no usable name", ref.Kind)
	}
	if ref.Kind == "Template" {
		return l.templates, "a file that may hold it cannot be read"
	}
	return l.file, "a file that may hold it cannot be read"
}

// policies returns the policies that select a pair, and those that selected it and cannot be read now. The latter
// stay recorded until it is known whether they still select the pair.
func (l *lost) policies(selecting []string, published *Assignment) []string {
	if len(l.refs) == 0 || published == nil {
		return selecting
	}
	all := selecting
	for _, name := range published.Policies {
		_, unreadable := l.refs[policyRef(name)]
		if gone, _ := l.gone(policyRef(name)); unreadable || gone != nil {
			all = append(slices.Clip(all), name)
		}
	}
	if len(all) > len(selecting) {
		slices.Sort(all)
	}
	return slices.Compact(all)
}

// removal explains why a published assignment that is no longer wanted must not be removed: something that could
// still want it cannot be read. It returns nil if it can be removed.
func (l *lost) removal(published *Assignment) *fleet.Problem {
	if len(l.refs) == 0 {
		return nil
	}
	if l.file != nil {
		return withheld(published, "it is no longer scheduled, but a file that may schedule it cannot be read", *l.file)
	}
	if l.exclusion != nil { // what replaces it may not be added
		return withheld(published, "it is no longer scheduled, but a policy that may exclude what replaces it cannot be read", *l.exclusion)
	}
	for _, ref := range belongsTo(published) {
		if u, ok := l.unreadable(ref, published); ok {
			return withheld(published, fmt.Sprintf("it is no longer scheduled, but %s cannot be read", ref), u)
		}
		if u, why := l.gone(ref); u != nil {
			return withheld(published, fmt.Sprintf("it is no longer scheduled, but %s is gone, and %s", ref, why), *u)
		}
	}
	if published.Workload == "" {
		for ref := range l.refs {
			if decides(ref.Kind) {
				return withheld(published, "it is no longer scheduled, but what scheduled it is not recorded, and not everything can be read", fleet.Unreadable{})
			}
		}
	}
	return nil
}

// stays is [StaysOf].
func (l *lost) stays(standing Standing) func(placement.Pair) bool {
	if len(l.refs) == 0 {
		return nil
	}
	return func(p placement.Pair) bool {
		a, ok := standing.Assignment(p.ClusterType, p.Target)
		return ok && l.removal(a) != nil
	}
}

// belongsTo returns the objects that determine whether an assignment exists.
func belongsTo(a *Assignment) []fleet.Ref {
	refs := []fleet.Ref{
		{Kind: "ClusterType", Name: a.ClusterType},
		{Kind: "DeploymentTarget", Name: a.Target},
		{Kind: "Workload", Name: a.Workload},
		{Kind: "WorkloadRegistration", Name: a.Registration},
	}
	for _, p := range a.Policies {
		refs = append(refs, policyRef(p))
	}
	if a.Cluster != "" {
		refs = append(refs, clusterRef(a.Cluster))
	}
	return refs
}

// decides reports whether objects of a kind determine which assignments exist.
func decides(kind string) bool {
	switch kind {
	case "ClusterType", "Cluster", "DeploymentTarget", "Workload", "WorkloadRegistration", "SchedulingPolicy":
		return true
	}
	return false
}

// withheld returns the problem of an assignment that stays as published. The position is shown after the message,
// which therefore does not name the file.
func withheld(a *Assignment, message string, cause fleet.Unreadable) *fleet.Problem {
	return &fleet.Problem{
		Severity:   fleet.SeverityError,
		Kind:       fleet.KindHeld,
		Object:     cause.Ref,
		Position:   cause.Position,
		Assignment: a.Name(),
		Message:    message,
		Hint:       "it stays as published until that is corrected",
	}
}
