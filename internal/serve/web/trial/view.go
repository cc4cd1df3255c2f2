package trial

import (
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Limits of what a page shows of a plan.
const (
	maxRows     = 100
	maxNames    = 6
	maxKeys     = 12
	maxValue    = 160 // bytes
	maxProblems = 50
	maxDiff     = 16 << 10
	maxDiffs    = 96 << 10 // of all plans
)

// Plan is a plan as pages show it.
type Plan struct {
	*plan.Plan
	// Findings are those that warn or refuse; MoreFindings are left out. Checks summarizes all of them.
	Findings     []check.Finding
	MoreFindings int
	Checks       string
	// Rows has a row for each group of equal changes. Removed and held ones are left out last.
	Rows []Row
	// More is the number of assignments without a row.
	More int
	// New are the errors that the change introduces, and Problems the others.
	New      []fleet.Problem
	Problems []plan.RootProblem
	// MoreProblems is the number of problems left out.
	MoreProblems int
}

// Row is a group of equal changes.
type Row struct {
	Op plan.Op
	// First is the first of Count changes.
	First *plan.Change
	Count int
	// Pairs are some of the targets, each with its cluster types; MorePairs is the number of the other targets.
	Pairs     []Pair
	MorePairs int
	// Config are some of the configuration keys that differ; MoreConfig is the number of the others.
	Config     []Key
	MoreConfig int
	// Rights are the roles and Secrets that are granted or withdrawn. MayStay is what removed assignments may leave elsewhere.
	Rights, MayStay string
	// Gone are objects that clusters delete. HandedOver stay beside those that take over from them, and Retired were handed over and are removed.
	Gone, HandedOver, Retired             []plan.Object
	MoreGone, MoreHandedOver, MoreRetired int
	// Diff is the diff of First; empty if there is no room for it.
	Diff []plan.DiffLine
	// Cut is true if Diff is incomplete.
	Cut bool
}

// Pair is a target with the cluster types, or clusters, on which it changes; More is the number of those left out.
type Pair struct {
	Target string
	Places []string
	More   int
}

// pairsOf returns the first targets of a group, each with its own places, and the number of the others.
func pairsOf(g plan.Group) (pairs []Pair, left int) {
	titles, left := firstOf(g.Targets(), maxNames)
	for _, title := range titles {
		of := plan.Group{Op: g.Op}
		for _, c := range g.Changes {
			if c.Title == title {
				of.Changes = append(of.Changes, c)
			}
		}
		places, more := firstOf(of.Places(), maxNames)
		pairs = append(pairs, Pair{title, places, more})
	}
	return pairs, left
}

// Key is a configuration key that differs.
type Key struct {
	plan.ConfigChange
	// Was and Is are the values, shortened. An empty value does not mean that the key is missing.
	Was, Is string
}

// plansOf returns the plans of a preview as pages show them.
func plansOf(preview *schedule.Preview) []Plan {
	var all []Plan
	room := maxDiffs
	for _, d := range preview.Drafts {
		all = append(all, planOf(d, &room))
	}
	return all
}

// Of returns a plan as pages show it, with the errors that it adds.
func Of(p *plan.Plan, added []fleet.Problem) Plan {
	room := maxDiffs
	return planOf(&schedule.Draft{Plan: p, NewProblems: added}, &room)
}

func planOf(d *schedule.Draft, room *int) Plan {
	p := d.Plan
	v := Plan{Plan: p, New: d.NewProblems, Problems: plan.RootProblems(p.Problems)}
	if len(d.Findings) > 0 {
		v.Checks = check.Summary(d.Findings)
	}
	for _, level := range []check.Level{check.Refuse, check.Warn} {
		for _, f := range d.Findings {
			if f.Level == level {
				v.Findings = append(v.Findings, f)
			}
		}
	}
	for _, f := range d.Findings {
		if f.Exception != "" {
			v.Findings = append(v.Findings, f)
		}
	}
	if n := len(v.Findings); n > maxProblems {
		v.Findings, v.MoreFindings = v.Findings[:maxProblems], n-maxProblems
	}
	v.Problems = slices.DeleteFunc(v.Problems, func(one plan.RootProblem) bool {
		return slices.ContainsFunc(d.NewProblems, func(b fleet.Problem) bool { return b.Message == one.Message && b.Position == one.Position })
	})
	if n := len(v.Problems); n > maxProblems {
		v.Problems, v.MoreProblems = v.Problems[:maxProblems], n-maxProblems
	}
	groups := p.Groups()
	keep := mostUrgent(groups)
	for i, g := range groups {
		if keep[i] {
			v.Rows = append(v.Rows, rowOf(p, g, room))
		} else {
			v.More += len(g.Changes)
		}
	}
	return v
}

// mostUrgent marks up to maxRows groups.
func mostUrgent(groups []plan.Group) []bool {
	keep, left := make([]bool, len(groups)), maxRows
	for _, op := range []plan.Op{plan.Removed, plan.Held, plan.Added, plan.Changed} {
		for i, g := range groups {
			if g.Op == op && left > 0 {
				keep[i] = true
				left--
			}
		}
	}
	return keep
}

func rowOf(p *plan.Plan, g plan.Group, room *int) Row {
	r := Row{Op: g.Op, First: g.Changes[0], Count: len(g.Changes)}
	r.Pairs, r.MorePairs = pairsOf(g)
	config, more := firstOf(g.Changes[0].Config, maxKeys)
	for _, c := range config {
		r.Config = append(r.Config, Key{c, valueOf(c.Old), valueOf(c.New)})
	}
	r.MoreConfig = more
	r.Rights, r.MayStay = g.Rights(), g.MayStay()
	r.Gone, r.MoreGone = firstOf(g.Gone(), maxNames)
	r.HandedOver, r.MoreHandedOver = firstOf(g.HandedOver(), maxNames)
	r.Retired, r.MoreRetired = firstOf(g.Retired(), maxNames)
	if g.Op == plan.Held || *room <= 0 {
		return r
	}
	text, err := p.Diff(g.Changes[0])
	if err != nil {
		return r // the row without a diff is still useful
	}
	if limit := min(maxDiff, *room); len(text) > limit {
		text, r.Cut = text[:strings.LastIndexByte(text[:limit], '\n')+1], true
	}
	*room -= len(text)
	r.Diff = plan.DiffLines(text)
	return r
}

// valueOf returns a value, shortened.
func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	if len(*text) > maxValue {
		return strings.ToValidUTF8((*text)[:maxValue], "") + "…"
	}
	return *text
}

// firstOf returns the first elements of a list, and the number of the others.
func firstOf[T any](all []T, most int) ([]T, int) {
	if len(all) <= most {
		return all, 0
	}
	return all[:most], len(all) - most
}
