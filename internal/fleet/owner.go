package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Owner tells whose a target is.
type Owner struct {
	// Workspace and Registration are empty for a DeploymentTarget in the control plane without a workspace.
	Workspace, Registration string
	Workload                string
}

// Owner returns whose the target is.
func (t *Target) Owner() Owner { return Owner{t.Workspace, t.Registration, t.Workload} }

// Shares reports whether two owners are the same team: names of workloads and targets belong to a workspace.
// A registration whose workspace was renamed stays the same owner.
func (o Owner) Shares(other Owner) bool {
	return o.Workspace == other.Workspace || o.Registration != "" && o.Registration == other.Registration
}

// registration returns the reference of the owner's registration; zero if it has none.
func (o Owner) registration() Ref {
	if o.Registration == "" {
		return Ref{}
	}
	return Ref{Kind: kindRegistration, Name: o.Registration}
}

// Contest is a name that several targets have.
type Contest struct {
	Targets []*Target // sorted by source, file, line and registration
	Problem Problem
}

// onceTargets returns the targets with unique names. It reports and loses the others; see [Snapshot.Settle].
func (a *assembly) onceTargets(all []*Target) []*Target {
	slices.SortFunc(all, func(x, y *Target) int {
		return cmp.Or(byName(x, y), cmp.Compare(x.Registration, y.Registration))
	})
	var kept []*Target
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Name == all[0].Name {
			n++
		}
		if n == 1 {
			kept = append(kept, all[0])
		} else {
			a.contest(slices.Clone(all[:n]))
		}
		all = all[n:]
	}
	return kept
}

func (a *assembly) contest(targets []*Target) {
	places := make([]string, len(targets))
	for i, t := range targets {
		places[i] = t.place()
		a.lose(t, Owner{})
	}
	c := Contest{targets, Problem{
		Severity: SeverityError, Kind: KindDuplicate, Object: targets[0].ref(), Position: targets[0].Position,
		Message: "defined more than once: " + strings.Join(places, ", "), Hint: "rename or remove all but one",
	}}
	a.s.Problems = append(a.s.Problems, c.Problem)
	a.s.Contests = append(a.s.Contests, c)
}

// place returns where and whose a target is, for messages.
func (t *Target) place() string {
	text := t.Position.String()
	if t.Position.Source != "" {
		text += " of " + t.Position.Source
	}
	var of []string
	if t.Registration != "" {
		of = append(of, fmt.Sprintf("registration %q", t.Registration))
	}
	if t.Workspace != "" {
		of = append(of, fmt.Sprintf("workspace %q", t.Workspace))
	}
	if len(of) > 0 {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	return text
}

// Settle decides whose a name is that several owners use: it belongs to the one whose assignments are published. The
// targets of the others are left out, and the problem is theirs. So a newcomer never holds, changes or removes what
// another team has published, not even while that team's repository cannot be read.
//
// published returns the owners of the published assignments of a target. Names that it does not decide stay contested:
// none of their targets is used. Settle returns a new snapshot, or s if there is nothing to decide.
func (s *Snapshot) Settle(published func(target string) []Owner) *Snapshot {
	settled := *s
	settled.Contests = nil
	var newcomers []Problem
	var winners []*Target
	for _, c := range s.Contests {
		winner := c.winner(published(c.Targets[0].Name))
		if winner == nil {
			settled.Contests = append(settled.Contests, c)
			continue
		}
		winners = append(winners, winner)
		for _, t := range c.Targets {
			if t != winner {
				newcomers = append(newcomers, t.newcomer("the published target at "+winner.place()))
			}
		}
		settled.forget(c)
	}
	keep := make([]*Target, 0, len(s.Targets)+len(winners))
	for _, t := range s.Targets {
		if owner, known := s.absentOwner(t, published(t.Name)); known {
			newcomers = append(newcomers, t.newcomer(fmt.Sprintf("a published target of registration %q in workspace %q, which cannot be read", owner.Registration, owner.Workspace)))
			continue
		}
		keep = append(keep, t)
	}
	if len(newcomers) == 0 {
		return s
	}
	settled.Targets = append(keep, winners...)
	slices.SortFunc(settled.Targets, func(x, y *Target) int { return cmp.Compare(x.Name, y.Name) })
	settled.Problems = SortProblems(slices.Concat(settled.Problems, newcomers))
	return &settled
}

// Owners returns the owner of the target with a name, if there is one, for [Snapshot.Settle] of a later state.
func (s *Snapshot) Owners(target string) []Owner {
	i, ok := slices.BinarySearchFunc(s.Targets, target, func(t *Target, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return []Owner{s.Targets[i].Owner()}
}

// winner returns the target of the published owner, or nil if that is not certain.
func (c Contest) winner(owners []Owner) *Target {
	for _, match := range []func(Owner, Owner) bool{func(a, b Owner) bool { return a == b }, Owner.Shares} {
		var found []*Target
		for _, t := range c.Targets {
			if slices.ContainsFunc(owners, func(o Owner) bool { return match(o, t.Owner()) }) {
				found = append(found, t)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return nil
}

// newcomer returns the problem of a target whose name is another's.
func (t *Target) newcomer(owner string) Problem {
	return Problem{
		Severity: SeverityError, Kind: KindDuplicate, Object: t.ref(), Position: t.Position,
		Message: fmt.Sprintf("the target at %s is not scheduled: its name is taken by %s", t.place(), owner),
		Hint:    "rename this target or its workload",
	}
}

// forget removes the problem of a contest, and its targets from what is unreadable.
func (s *Snapshot) forget(c Contest) {
	s.Problems = slices.DeleteFunc(slices.Clone(s.Problems), func(p Problem) bool { return p == c.Problem })
	s.Unreadable = slices.DeleteFunc(slices.Clone(s.Unreadable), func(u Unreadable) bool {
		return u.Ref == c.Targets[0].ref() && slices.ContainsFunc(c.Targets, func(t *Target) bool { return t.Position == u.Position })
	})
}

// absentOwner returns another owner of a published target, if that owner's own target may exist and cannot be read.
func (s *Snapshot) absentOwner(t *Target, owners []Owner) (Owner, bool) {
	if len(owners) == 0 || slices.ContainsFunc(owners, func(o Owner) bool { return o.Shares(t.Owner()) }) {
		return Owner{}, false
	}
	for _, owner := range owners {
		if slices.ContainsFunc(s.Unreadable, func(u Unreadable) bool { return u.mayDefine(owner, t.Name) }) {
			return owner, true
		}
	}
	return Owner{}, false
}

// mayDefine reports whether an unreadable object may be, or define, a target of an owner.
func (u Unreadable) mayDefine(owner Owner, target string) bool {
	switch u.Ref.Kind {
	case "":
		return true
	case kindRegistration:
		return u.Nameless || u.Ref.Name == owner.Registration
	case kindWorkload:
		return u.Ref.Name == owner.Workload && u.Concerns(owner)
	case kindTarget:
		return (u.Nameless || u.Ref.Name == target) && u.Concerns(owner)
	}
	return false
}

// Concerns reports whether the object may be an owner's.
func (u Unreadable) Concerns(owner Owner) bool { return u.Owner == (Owner{}) || u.Owner.Shares(owner) }
