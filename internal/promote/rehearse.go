package promote

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Rehearse is [Promoter.Preview] as if users had given commands. They are steps as [Control] records them.
func (p *Promoter) Rehearse(ctx context.Context, pipeline Pipeline, commands ...ledger.Step) (*Outcome, error) {
	return p.work(ctx, pipeline, commands, func(*round) error { return nil })
}

// Effect is what a command changes in an environment, a ring, or a batch of a ring.
type Effect struct {
	// Place is the name of the environment, or ENVIRONMENT/RING.
	Place string `json:"place"`
	// Clusters is the number of clusters that follow its branch; zero for an environment with rings.
	Clusters int `json:"clusters"`
	// From is its commit, and To the one that it gets in the next round; empty if it keeps its commit then.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Reason describes its state after the command, and what it waits for.
	Reason string `json:"reason"`
}

// Effects compares two outcomes: what is, and what would be after a command. It returns the places that differ, in
// the order of promotion.
func Effects(before, after *Outcome) []Effect {
	known := map[string]Effect{}
	for _, e := range effectsOf(before) {
		known[e.Place] = e
	}
	effects := []Effect{}
	for _, e := range effectsOf(after) {
		if e != known[e.Place] {
			effects = append(effects, e)
		}
	}
	return effects
}

// effectsOf describes all places of an outcome.
func effectsOf(o *Outcome) []Effect {
	var all []Effect
	for i := range o.Environments {
		s := &o.Environments[i]
		whole := Effect{Place: s.Environment, Clusters: s.Verdict.Counts.Expected, From: s.Commit, To: s.To, Reason: s.Reason}
		if len(s.Rings) > 0 {
			whole.Clusters = 0 // those of its rings
		}
		all = append(all, whole)
		for j := range s.Rings {
			r := &s.Rings[j]
			all = append(all, Effect{
				Place: decide.RingName(s.Environment, r.Name), Clusters: r.Clusters, From: r.Commit, To: r.To, Reason: r.Reason,
			})
		}
	}
	return all
}

// goesTo returns the commit that a decision promotes or returns to, or "".
func goesTo(d decide.Decision) string {
	for _, action := range d.Actions {
		switch a := action.(type) {
		case decide.Promote:
			return a.Commit
		case decide.ProposeRollback:
			return a.To
		}
	}
	return ""
}
