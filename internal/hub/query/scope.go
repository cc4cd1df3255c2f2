package query

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// Sees reports whether a viewer sees what belongs to a workspace in an environment of a control plane. The environment is empty for what
// concerns all environments.
type Sees func(controlPlane, workspace, environment string) bool

// maxScopes limits how many scopes are kept.
const maxScopes = 128

// scopes keeps the observers of scopes until the fleet changes. The zero value is ready.
type scopes struct {
	mu    sync.Mutex
	known map[string]*Observer
}

// Within returns an observer that answers only about what a viewer sees: the targets of its workspaces, with their assignments,
// applications and reconcilers, and the clusters of the types that the targets are assigned to. All other things do not exist in its
// answers: not in lists, counts, cursors and suggestions. key is equal for viewers that see the same.
//
// The fleet and the ledger are restricted, not the answers, so that each query is restricted, also a new one. What is allowed is copied;
// anything else is left out. The registration in the control plane decides about the workspace of a workload, and not what repositories of
// applications say. A workload or a source that another workspace also has is left out for both.
//
// Of an environment, it has the commit and the phase, but no reasons, titles, users, problems, plans, rings and steps of the platform,
// because these can name others. Of the platform's history, it has nothing.
func (o *Observer) Within(key string, sees Sees) *Observer {
	var planes []ControlPlane
	if o.Fleet != nil {
		planes = o.Fleet.ControlPlanes()
	}
	o.scopes.mu.Lock()
	defer o.scopes.mu.Unlock()
	if known := o.scopes.known[key]; known != nil && samePlanes(known.visible.planes, planes) {
		return known
	}
	v := newVisible(planes, sees)
	within := &Observer{Fleet: v.fleet(), Histories: o.Histories, Now: o.Now, visible: v}
	within.Ledger = &visibleLedger{all: o.Ledger, v: v, now: o.Now}
	if len(o.scopes.known) >= maxScopes || o.scopes.known == nil {
		o.scopes.known = map[string]*Observer{}
	}
	o.scopes.known[key] = within
	return within
}

// samePlanes reports whether two states of the fleet are from the same rounds. Results of rounds never change.
func samePlanes(a, b []ControlPlane) bool {
	return slices.EqualFunc(a, b, func(x, y ControlPlane) bool {
		return x.URL == y.URL && (x.Err == nil) == (y.Err == nil) && slices.Equal(x.Environments, y.Environments) && x.Promotion == y.Promotion &&
			maps.Equal(x.Scheduling, y.Scheduling) && slices.Equal(x.Applications, y.Applications)
	})
}

// claim says who has something.
type claim struct{ own, other bool }

// claims are things that may have several owners.
type claims[K comparable] map[K]claim

func (c claims[K]) add(k K, own bool) {
	was := c[k]
	c[k] = claim{was.own || own, was.other || !own}
}

// own reports whether something belongs to the viewer only.
func (c claims[K]) own(k K) bool { return c[k] == claim{own: true} }

// inEnvironment is a name in an environment.
type inEnvironment struct{ environment, name string }

// placed is an environment of a control plane.
type placed struct{ controlPlane, environment string }

// visible is what a viewer sees of a state of the fleet. It is immutable, apart from a cache.
type visible struct {
	planes []ControlPlane
	sees   Sees
	// environments are those of a control plane in which the viewer has something.
	environments map[placed]bool
	workloads    claims[inEnvironment]
	targets      claims[inEnvironment]
	subjects     claims[string]
	sources      claims[ledger.Source]
	branches     claims[branch]
	// platform are the branches with the platform's files, which targets of workspaces can name, too.
	platform map[branch]bool
	// clusterTypes are those with assignments of the viewer, by environment.
	clusterTypes map[inEnvironment]bool
	// others are names that the viewer must not see, in lower case.
	others []string

	mu       sync.Mutex
	clusters map[string]bool // by name; nil until read
	read     time.Time
}

func newVisible(planes []ControlPlane, sees Sees) *visible {
	v := &visible{
		planes: planes, sees: sees, environments: map[placed]bool{}, workloads: claims[inEnvironment]{}, targets: claims[inEnvironment]{},
		subjects: claims[string]{}, sources: claims[ledger.Source]{}, branches: claims[branch]{}, clusterTypes: map[inEnvironment]bool{},
		platform: map[branch]bool{},
	}
	own, other := map[string]bool{}, map[string]bool{}
	for i := range planes {
		v.addPlane(&planes[i], own, other)
	}
	for name := range other {
		if !own[name] && name != "" {
			v.others = append(v.others, strings.ToLower(name))
		}
	}
	slices.Sort(v.others)
	return v
}

// addPlane adds what a control plane has, and notes the names of the viewer's things and of others.
func (v *visible) addPlane(cp *ControlPlane, own, other map[string]bool) {
	note := func(mine bool, names ...string) {
		for _, name := range names {
			own[name], other[name] = own[name] || mine, other[name] || !mine
		}
	}
	for environment, scheduled := range cp.Scheduling {
		if cp.Environments != nil && !slices.Contains(cp.Environments, environment) {
			continue
		}
		if s := scheduled.Snapshot; s != nil && s.GitOps != nil {
			v.addPlatform(s.GitOps.Repo, s.GitOps.Branch)
			v.addPlatform(s.GitOps.URL, s.GitOps.Branch)
		}
		inv := scheduled.targets()
		for i := 0; inv != nil && i < len(inv.targets); i++ {
			t := inv.targets[i]
			mine := v.sees(cp.URL, t.workspace, environment)
			note(mine, t.workload, t.name)
			note(mine || v.seesSomewhere(cp, t.workspace), t.workspace)
			v.workloads.add(inEnvironment{environment, t.workload}, mine)
			v.targets.add(inEnvironment{environment, t.name}, mine)
			if t.source != (ledger.Source{}) {
				v.sources.add(t.source, mine)
				v.branches.add(branch{t.source.Repository, t.source.Ref}, mine)
			}
			if !mine {
				continue
			}
			v.environments[placed{cp.URL, environment}] = true
			for _, a := range t.assignments {
				v.clusterTypes[inEnvironment{environment, a.clusterType}] = true
			}
		}
	}
	for _, a := range cp.Applications {
		v.addApplication(cp, a, note)
	}
	if cp.Promotion != nil {
		for _, e := range cp.Promotion.Environments {
			v.addPlatform(e.GitOps.Repo, e.GitOps.Branch)
		}
	}
}

// addPlatform adds a branch with the platform's files. What it says is about all workspaces.
func (v *visible) addPlatform(repository, name string) {
	if repository == "" {
		return
	}
	at := branch{ledger.CleanRepository(repository), name}
	v.platform[at] = true
	v.branches.add(at, false)
}

// source reports whether a source belongs to the viewer only.
func (v *visible) source(s ledger.Source) bool {
	return v.sources.own(s) && !v.platform[branch{s.Repository, s.Ref}]
}

// seesSomewhere reports whether the viewer sees a workspace in any environment.
func (v *visible) seesSomewhere(cp *ControlPlane, workspace string) bool {
	for environment := range cp.Scheduling {
		if v.sees(cp.URL, workspace, environment) {
			return true
		}
	}
	return v.sees(cp.URL, workspace, "")
}

func (v *visible) addApplication(cp *ControlPlane, a *Application, note func(mine bool, names ...string)) {
	seen := v.sees(cp.URL, a.Workspace, "")
	for _, e := range a.Environments {
		mine := v.sees(cp.URL, a.Workspace, e.Environment)
		seen = seen || mine
		v.workloads.add(inEnvironment{e.Environment, a.Name}, mine)
		if mine {
			v.environments[placed{cp.URL, e.Environment}] = true
		}
		if e.GitOps != nil {
			v.branches.add(branch{e.GitOps.Repository, e.GitOps.Branch}, mine)
		}
	}
	note(seen, a.Name, a.Workspace)
	v.subjects.add(a.Subject, seen)
}

// environment reports whether the viewer has something in an environment of any control plane.
func (v *visible) environment(name string) bool {
	for at, ok := range v.environments {
		if ok && at.environment == name {
			return true
		}
	}
	return false
}

// subject reports whether a step's subject is an application that only the viewer has, in an environment that it sees.
func (v *visible) subject(subject, environment string) bool {
	if !v.subjects.own(subject) {
		return false
	}
	name, _ := decide.SplitRing(environment)
	for i := range v.planes {
		for _, a := range v.planes[i].Applications {
			if a.Subject == subject && (v.sees(v.planes[i].URL, a.Workspace, "") || v.sees(v.planes[i].URL, a.Workspace, name)) {
				return true
			}
		}
	}
	return false
}

// text returns a text of the platform about the viewer's things, or another one if it names what the viewer does not see.
func (v *visible) text(text, instead string) string {
	lower := strings.ToLower(text)
	if slices.ContainsFunc(v.others, func(name string) bool { return strings.Contains(lower, name) }) {
		return instead
	}
	return text
}

// Mentioned is what a signal or another short message is about. Empty fields do not apply.
type Mentioned struct{ ControlPlane, Environment, Application, Cluster string }

// Concerns reports whether something that is mentioned exists for the viewer of [Observer.Within]; always true for other observers.
func (o *Observer) Concerns(m Mentioned) bool {
	v := o.visible
	switch {
	case v == nil:
		return true
	case m.Cluster != "":
		l, ok := o.Ledger.(*visibleLedger)
		return ok && l.hasCluster(m.Cluster)
	case m.Application != "":
		return slices.ContainsFunc(o.applications(), func(a *Application) bool {
			return a.Name == m.Application && (m.ControlPlane == "" || repourl.Same(m.ControlPlane, a.ControlPlane)) &&
				(m.Environment == "" || a.environment(m.Environment) != nil)
		})
	case m.Environment != "":
		return slices.ContainsFunc(o.standings(), func(s standing) bool {
			return s.name == m.Environment && (m.ControlPlane == "" || repourl.Same(m.ControlPlane, s.controlPlane))
		})
	}
	return false
}

// Scoped reports whether the observer was made by [Observer.Within].
func (o *Observer) Scoped() bool { return o.visible != nil }
