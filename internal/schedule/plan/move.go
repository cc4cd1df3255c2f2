package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Move is a number of targets that leave a cluster type and join another one, for the same reason.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Step is the step of the policy that does not assign them to the cluster type any more.
	Step placement.Step `json:"step"`
	// Targets are the names of the targets, sorted.
	Targets []string `json:"targets"`
}

// String says it in words: "12 targets move from west-1 to west-2: capacity".
func (m Move) String() string {
	verb := "move"
	if len(m.Targets) == 1 {
		verb = "moves"
	}
	return fmt.Sprintf("%s %s from %s to %s: %s", count(len(m.Targets), "target"), verb, m.From, m.To, m.Step)
}

// MovesText says what moves, a line for each move; empty if nothing does.
func (p *Plan) MovesText() []string {
	lines := make([]string, 0, min(len(p.Moves), MaxRows))
	for i, m := range p.Moves {
		if i == MaxRows {
			return append(lines, fmt.Sprintf("and %d more moves", len(p.Moves)-i))
		}
		lines = append(lines, m.String())
	}
	return lines
}

// addMoves finds the rule of a policy that does not allow a removed assignment any more, and where its target goes instead: to
// the cluster types to which the same policy adds it.
func (p *Plan) addMoves(after *bundle.Bundle) {
	lost := map[placement.Pair][]string{}
	joins := map[string][]*Change{}
	for i := range p.Assignments {
		c := &p.Assignments[i]
		switch {
		case c.Op == Removed && c.Cause == NoPolicy && len(lost) < maxRemoved: // that of a cluster is decided with its type
			lost[placement.Pair{Target: c.Target, ClusterType: c.ClusterType}] = c.Policies
		case c.Op == Added && c.Cluster == "":
			joins[c.Target] = append(joins[c.Target], c)
		}
	}
	if len(lost) == 0 {
		return
	}
	losses := after.Decisions.Losses(lost)
	moves := map[moveKey]int{}
	for i := range p.Assignments {
		c := &p.Assignments[i]
		loss, known := losses[placement.Pair{Target: c.Target, ClusterType: c.ClusterType}]
		if c.Op != Removed || c.Cause != NoPolicy || !known || loss.Step == placement.StepSelectors {
			continue
		}
		c.Cause, c.Step, c.StepReason = Rules, loss.Step, loss.Reason
		for _, joined := range joins[c.Target] {
			if !slices.Contains(joined.Policies, loss.Policy) {
				continue
			}
			if c.MovesTo = append(c.MovesTo, joined.ClusterType); c.Cluster == "" {
				p.addMove(moves, Move{From: c.ClusterType, To: joined.ClusterType, Step: loss.Step}, c.Target)
			}
		}
	}
	slices.SortStableFunc(p.Moves, func(a, b Move) int {
		return cmp.Or(cmp.Compare(len(b.Targets), len(a.Targets)), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}

func (p *Plan) addMove(known map[moveKey]int, m Move, target string) {
	key := moveKey{m.From, m.To, m.Step}
	at, ok := known[key]
	if !ok {
		at = len(p.Moves)
		known[key] = at
		p.Moves = append(p.Moves, m)
	}
	p.Moves[at].Targets = append(p.Moves[at].Targets, target)
}

type moveKey struct {
	from, to string
	step     placement.Step
}

// Why says why an assignment is removed, and where its target goes instead.
func (c *Change) Why() string {
	if c.Cause != Rules {
		return c.Cause.String()
	}
	if len(c.MovesTo) > 0 {
		return fmt.Sprintf("moves to %s: %s", strings.Join(c.MovesTo, ", "), c.Step)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", c.Cause, c.Step, c.StepReason), ": ")
}
