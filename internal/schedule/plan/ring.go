package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Rings are the rings in which a change is rolled out, and how they change.
type Rings struct {
	// Rings are those after the change, in the order of rollouts; empty if the environment has none any more.
	Rings []Ring `json:"rings"`
	// Added and Removed are the names of the rings that appear or go.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Moves are the clusters that move from one ring to another, in the order of rollouts.
	Moves []RingMove `json:"moves,omitempty"`
	// Introduced means that the environment had no rings before.
	Introduced bool `json:"introduced,omitempty"`
}

// Ring is a ring of an environment.
type Ring struct {
	Name string `json:"name"`
	// Clusters is the number of its clusters, Batches the number of batches in which they change.
	Clusters int `json:"clusters"`
	Batches  int `json:"batches"`
	// Own is the number of its clusters that have windows or are on hold. Each changes when it says so, and is in no batch.
	Own int `json:"own,omitempty"`
}

// RingMove is a number of clusters that move from one ring to another.
type RingMove struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Clusters are their names, sorted.
	Clusters []string `json:"clusters"`
}

// ringsOf compares rings; nil if there are none on either side.
func ringsOf(before, after *bundle.Rings) *Rings {
	if before == nil && after == nil {
		return nil
	}
	r := &Rings{Rings: sumRings(after), Introduced: before == nil}
	was := sumRings(before)
	if before != nil {
		r.Added, r.Removed = differences(ringNames(was), ringNames(r.Rings))
	}
	if before == nil || after == nil {
		return r
	}
	from := fleet.StageOf(before.Stages)
	for _, s := range after.Stages {
		for _, c := range s.Clusters {
			if stage, known := from[c]; known && fleet.RingOfStage(stage) != s.Ring {
				r.addMove(fleet.RingOfStage(stage), s.Ring, c)
			}
		}
	}
	for i := range r.Moves {
		slices.Sort(r.Moves[i].Clusters)
	}
	return r
}

func (r *Rings) addMove(from, to, cluster string) {
	i := slices.IndexFunc(r.Moves, func(m RingMove) bool { return m.From == from && m.To == to })
	if i < 0 {
		i = len(r.Moves)
		r.Moves = append(r.Moves, RingMove{From: from, To: to})
	}
	r.Moves[i].Clusters = append(r.Moves[i].Clusters, cluster)
}

// sumRings sums up the batches of each ring.
func sumRings(rings *bundle.Rings) []Ring {
	all := []Ring{}
	if rings == nil {
		return all
	}
	for _, s := range rings.Stages {
		if len(all) == 0 || all[len(all)-1].Name != s.Ring {
			all = append(all, Ring{Name: s.Ring})
		}
		last := &all[len(all)-1]
		last.Clusters += len(s.Clusters)
		if _, own := s.Own(); own {
			last.Own++
			continue
		}
		last.Batches++
	}
	return all
}

func ringNames(rings []Ring) []string {
	names := make([]string, len(rings))
	for i, r := range rings {
		names[i] = r.Name
	}
	return names
}

// changed reports whether clusters follow other branches than before.
func (r *Rings) changed() bool {
	return r != nil && (r.Introduced || len(r.Rings) == 0 || len(r.Added)+len(r.Removed)+len(r.Moves) > 0)
}

// String describes the ring: "early (20 clusters, in 4 batches)".
func (r Ring) String() string {
	text := fmt.Sprintf("%s (%s", r.Name, count(r.Clusters, "cluster"))
	if r.Batches > 1 {
		text += fmt.Sprintf(", in %d batches", r.Batches)
	}
	if r.Own > 0 {
		text += fmt.Sprintf(", of which %d when windows or holds allow it", r.Own)
	}
	return text + ")"
}

// maxNamed limits the clusters that a line names.
const maxNamed = 5

// String describes the move: "2 clusters move from others to canary: west-1, west-2".
func (m RingMove) String() string {
	verb, more := "move", ""
	if len(m.Clusters) == 1 {
		verb = "moves"
	}
	if n := len(m.Clusters) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s %s from %s to %s: %s%s", count(len(m.Clusters), "cluster"), verb, m.From, m.To,
		strings.Join(m.Clusters[:min(len(m.Clusters), maxNamed)], ", "), more)
}

// RingsText says in which order clusters change, and how rings change, a line for each; empty if neither matters.
func (p *Plan) RingsText() []string {
	r := p.Rings
	if r == nil || p.Empty() && !r.changed() {
		return nil
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if len(r.Rings) == 0 {
		add("the environment has no rings any more: all clusters follow its branch")
		return lines
	}
	parts := make([]string, len(r.Rings))
	for i, ring := range r.Rings {
		parts[i] = ring.String()
	}
	add("rolled out in %s: %s", count(len(r.Rings), "ring"), strings.Join(parts, ", "))
	if r.Introduced {
		add("the environment had no rings before: its clusters follow a ring once the objects that follow rings/<cluster> are installed")
	}
	for _, name := range r.Added {
		add("ring %s is new", name)
	}
	for _, name := range r.Removed {
		add("ring %s goes", name)
	}
	for i, m := range r.Moves {
		if i == MaxRows {
			add("and %d more moves between rings", len(r.Moves)-i)
			break
		}
		lines = append(lines, m.String())
	}
	return lines
}
