package plan

import (
	"fmt"
	"path"
	"strings"
)

// Group is a set of changes with the same content, so that one value that
// changes in a thousand assignments is shown once.
type Group struct {
	Op Op
	// Differ means that these are the changes of many clusters, each with values of its own: the same keys and files, but other values.
	Differ bool
	// Changes are in the order of the plan.
	Changes []*Change
}

// Groups groups the changes with the same content, in the order of their first assignments.
func (p *Plan) Groups() []Group {
	index := map[string]int{}
	var groups []Group
	for i := range p.Assignments {
		c := &p.Assignments[i]
		key := c.content()
		at, ok := index[key]
		if !ok {
			at = len(groups)
			index[key] = at
			groups = append(groups, Group{Op: c.Op})
		}
		groups[at].Changes = append(groups[at].Changes, c)
	}
	return joined(groups)
}

// Targets returns the distinct titles of the group, in order of first appearance.
func (g Group) Targets() []string {
	seen := map[string]bool{}
	var titles []string
	for _, c := range g.Changes {
		if !seen[c.Title] {
			seen[c.Title] = true
			titles = append(titles, c.Title)
		}
	}
	return titles
}

// Gone returns the objects that are no longer written, in the order of the changes.
func (g Group) Gone() []Object {
	var all []Object
	for _, c := range g.Changes {
		all = append(all, c.Gone...)
	}
	return all
}

// HandedOver returns the objects that are handed over, in the order of the changes.
func (g Group) HandedOver() []Object {
	var all []Object
	for _, c := range g.Changes {
		all = append(all, c.HandedOver...)
	}
	return all
}

// Retired returns the objects that were handed over and are removed, in the order of the changes.
func (g Group) Retired() []Object {
	var all []Object
	for _, c := range g.Changes {
		all = append(all, c.Retired...)
	}
	return all
}

// content returns the content of a change: everything except its assignment.
func (c *Change) content() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00", c.Op)
	if c.Op == Added || c.Op == Removed {
		fmt.Fprintf(&b, "%s\x00%s\x00%s\x00", strings.Join(c.Policies, ","), c.Why(), c.Renamed())
	}
	for _, k := range c.Config {
		fmt.Fprintf(&b, "%s\x00%s\x00%s\x00%s\x00%s\x00", k.Key, text(k.Old), text(k.New), k.From, k.Over)
	}
	for _, s := range c.Sources {
		fmt.Fprintf(&b, "%s\x00", s)
	}
	for _, r := range c.MayStay {
		fmt.Fprintf(&b, "%s stays\x00", r.place())
	}
	for _, r := range c.Granted {
		fmt.Fprintf(&b, "+%s\x00", r.kind())
	}
	for _, r := range c.Withdrawn {
		fmt.Fprintf(&b, "-%s\x00", r.kind())
	}
	for _, s := range c.GrantedSecrets {
		fmt.Fprintf(&b, "+%s\x00", s.Secret())
	}
	for _, s := range c.WithdrawnSecrets {
		fmt.Fprintf(&b, "-%s\x00", s.Secret())
	}
	for _, f := range c.Files {
		fmt.Fprintf(&b, "%s %s\x00", f.Op, path.Base(f.Path))
	}
	if c.Op == Changed {
		for _, o := range c.Gone {
			fmt.Fprintf(&b, "%s is gone\x00", o.Kind)
		}
		fmt.Fprintf(&b, "%d handed over, %d retired\x00", len(c.HandedOver), len(c.Retired))
	}
	if c.Reason != nil {
		fmt.Fprintf(&b, "%s\x00%s\x00%s", c.Reason.Message, c.Reason.Position.File, c.Reason.Position)
	}
	return b.String()
}

// text formats a value so that an unset value differs from an empty one.
func text(value *string) string {
	if value == nil {
		return "\x01"
	}
	return *value
}
