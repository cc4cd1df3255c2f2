package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// MarkdownOptions select what a Markdown plan shows.
type MarkdownOptions struct {
	// Diffs adds the folded unified differences.
	Diffs bool
	// Limit is the maximum size in bytes; 0 means no limit.
	Limit int
}

// Markdown returns the plan for a comment or pull request: counts, a table of assignments,
// configuration changes with their origin, problems. It escapes everything that comes from repositories.
func (p *Plan) Markdown(o MarkdownOptions) string {
	m := page{Page{Limit: o.Limit, Rest: "The plan is longer than fits here; `kalypso plan` shows all of it."}, p, p.Groups()}
	m.summary()
	m.Refusals(p.Refusals)
	m.assignments()
	for _, line := range p.MovesText() {
		m.Line("\n%s", markdown.Escape(line))
	}
	for _, line := range p.RingsText() {
		m.Line("\n%s", markdown.Escape(line))
	}
	if text := p.NewFolders(); text != "" {
		m.Line("\n%s", markdown.Escape(text))
	}
	m.configuration()
	m.Drift(p.Drift, "restored")
	m.Unmanaged(p.Unmanaged)
	m.Problems(p.Problems, "assignment", "`kalypso validate` lists all of them")
	if o.Diffs {
		m.diffs()
	}
	return m.String()
}

type page struct {
	Page
	plan   *Plan
	groups []Group
}

func (m *page) summary() {
	p, c := m.plan, m.plan.Counts
	m.Line("### %s: %d added, %d changed, %d removed, %d held\n", markdown.Escape(p.Environment), c.Added, c.Changed, c.Removed, c.Held)
	m.Line("%s compared with %s; %s unchanged.", markdown.Escape(p.After), markdown.Escape(p.Before), count(c.Unchanged, "assignment"))
	for _, change := range p.WhatIf {
		m.Line("What if %s: nothing is written.", markdown.Code(fleet.ReadableWhatIf(change)))
	}
	if p.Budget.Removals > 0 {
		m.Line("Removals: %d of a budget of %d.", p.Budget.Removals, p.Budget.Allowed)
	}
	if p.Promotion != nil {
		m.Line("Promotes main to %s.", markdown.Code(p.Promotion.To))
	}
	if p.OnlyRecords() {
		m.Line("Only records change, no manifests.")
	}
}

func (m *page) assignments() {
	for i, g := range m.groups {
		switch i {
		case 0:
			m.Line("\n| | cluster types | target | |\n|---|---|---|---|")
		case MaxRows:
			m.Line("| | | | and %d more rows |", len(m.groups)-i)
			return
		}
		m.Line("| %s | %s | %s | %s |", g.Op, List(g.Places()), List(g.Targets()), detail(g))
	}
}

// detail describes a group: the rights that it grants or withdraws, and the most important other thing.
func detail(g Group) string {
	if rights := g.Rights(); rights != "" {
		return strings.TrimSuffix("**"+markdown.Escape(rights)+"**; "+mainDetail(g), "; ")
	}
	return mainDetail(g)
}

func mainDetail(g Group) string {
	c := g.Changes[0]
	switch {
	case g.Op == Held:
		return markdown.Escape(c.Reason.Message) + At(c.Reason.Position)
	case g.Op == Removed:
		parts := []string{markdown.Escape(cmp.Or(c.Renamed(), c.Why())), deletes(g), markdown.Escape(g.MayStay())}
		return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
	case g.Op == Added && c.RenamedFrom != nil:
		return markdown.Escape(c.Renamed())
	case g.Op == Added && len(c.Policies) > 0:
		return "by " + List(c.Policies)
	case len(c.HandedOver) > 0:
		return "hands over " + objectList(g.HandedOver()) + ", which delete nothing any more"
	case len(c.Gone) > 0:
		return deletes(g)
	case len(c.Retired) > 0:
		return "clusters delete " + objectList(g.Retired()) + ", which have been handed over, and nothing with them"
	case len(c.Config)+len(c.Sources) > 0:
		var parts []string
		for _, s := range c.Sources {
			parts = append(parts, s.String())
		}
		for _, k := range c.Config {
			parts = append(parts, k.Key)
		}
		return List(parts)
	case g.Op == Changed:
		files := make([]string, len(c.Files))
		for i, f := range c.Files {
			files[i] = path.Base(f.Path)
		}
		return List(files)
	}
	return ""
}

// deletes returns which objects clusters delete.
func deletes(g Group) string {
	gone := g.Gone()
	if len(gone) == 0 {
		return ""
	}
	return "clusters delete " + objectList(gone)
}

func objectList(objects []Object) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.String()
	}
	return List(names)
}

func (m *page) configuration() {
	seen := map[string]bool{}
	for _, g := range m.groups {
		for _, k := range g.Changes[0].Config {
			row := fmt.Sprintf("| %s | %s | %s | %s |", markdown.Code(k.Key), Value(k.Old), Value(k.New), origins(k))
			if g.Differ {
				row = fmt.Sprintf("| %s | | another value for each cluster | |", markdown.Code(k.Key))
			}
			if seen[row] {
				continue
			}
			if len(seen) == 0 {
				m.Line("\n#### Configuration\n\n| key | old | new | written at |\n|---|---|---|---|")
			}
			seen[row] = true
			m.Line("%s", row)
		}
	}
}

func origins(k ConfigChange) string {
	switch {
	case k.From == (fleet.Position{}):
		return ""
	case k.Over == (fleet.Position{}):
		return markdown.Code(k.From.String())
	}
	return markdown.Code(k.From.String()) + ", over " + markdown.Code(k.Over.String())
}

// diffs adds the differences of each assignment as far as they fit.
func (m *page) diffs() {
	for i := range m.plan.Assignments {
		if m.Full() {
			return
		}
		c := &m.plan.Assignments[i]
		if diff, err := m.plan.Diff(c); err == nil && diff != "" {
			m.Fold(c.Title+" on "+c.Folder(), diff)
		}
	}
}
