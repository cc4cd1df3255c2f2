package model

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// program is what is explored. This file is the only one that knows its types: it turns states into facts, and actions into moves.
type program struct {
	m *model
	// open has the rules, and frozen the same ones during a freeze.
	open, frozen rules
	// seed changes facts before they are decided about, as a fault in the program would.
	seed func(*decide.Facts)
	// known are the answers for states that look the same.
	known map[[2]uint64]*answer
	seeds [2]maphash.Seed
	asked int
}

// rules are the chain of environments, and the rings of each.
type rules struct {
	chain *decide.Chain
	rings map[int]*decide.Chain
}

// circumstances are what a decision about a state may not depend on, or only in some respect.
type circumstances struct {
	// stopped means that everything is paused and frozen.
	stopped bool
	// statuses are those that were posted, and lost means that the program finds statuses that it never posted.
	statuses []decide.SetStatus
	lost     bool
}

// tickTime is how long a tick is, and moment how long it takes from one event to the next one in the same tick: longer than the clocks of
// clusters may differ, and so short that all events of a life fit into a tick.
const (
	tickTime = 24 * time.Hour
	moment   = 2 * time.Minute
)

// now is the time of all decisions.

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newProgram(m *model) *program {
	p := &program{m: m, known: map[[2]uint64]*answer{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	freeze := v1alpha1.Freeze{From: metav1.NewTime(now.Add(-tickTime)), To: metav1.NewTime(now.Add(tickTime))}
	p.open, p.frozen = newRules(m, nil), newRules(m, []v1alpha1.Freeze{freeze})
	return p
}

func newRules(m *model, freezes []v1alpha1.Freeze) rules {
	is := rules{rings: map[int]*decide.Chain{}}
	var stages []decide.Stage
	for i, c := range m.places {
		if c.ring {
			continue
		}
		promotion := &v1alpha1.Promotion{
			Gate: &v1alpha1.Gate{OfflineAfter: &metav1.Duration{Duration: tickTime}}, Verify: verifyOf(c), OnFailure: onFailure(c),
			Soak: soakOf(c), Freezes: freezes, RollbackWindow: &metav1.Duration{Duration: 100 * tickTime},
		}
		if c.after >= 0 {
			promotion.After = []string{m.places[c.after].name}
		}
		if c.byHand {
			promotion.Approval = v1alpha1.ApprovalPullRequest
		}
		var parts []fleet.Stage
		for _, j := range m.rings(i) {
			r := m.places[j]
			promotion.Rings = append(promotion.Rings, v1alpha1.Ring{Name: r.name, Soak: soakOf(r), Verify: verifyOf(r), OnFailure: onFailure(r)})
			parts = append(parts, fleet.Stage{Name: r.name, Ring: r.name})
		}
		stage := decide.Stage{Name: c.name, Promotion: promotion}
		stages = append(stages, stage)
		if parts != nil {
			is.rings[i] = decide.NewRings(stage, parts)
		}
	}
	chain, problems := decide.NewChain(stages, nil)
	if len(problems) > 0 {
		panic(fmt.Sprint(problems))
	}
	is.chain = chain
	return is
}

func soakOf(c placeConfig) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(c.soak) * tickTime}
}

func verifyOf(c placeConfig) []v1alpha1.Verification {
	var all []v1alpha1.Verification
	if c.smoke {
		all = append(all, v1alpha1.Verification{Name: "smoke", HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"}})
	}
	if c.release {
		all = append(all, v1alpha1.Verification{Name: "release", Approval: &v1alpha1.ApprovalVerification{}})
	}
	return all
}

func onFailure(c placeConfig) v1alpha1.FailureAction {
	if c.back {
		return v1alpha1.FailureRollback
	}
	return v1alpha1.FailureStop
}

// answer is what the program says about a state: its actions that change the world, and the places that can be rolled back.
type answer struct {
	moves   []move
	returns [maxPlaces]bool
	// judged means that the decisions themselves have been judged.
	judged bool
}

// ask returns the answer of the program.
func (p *program) ask(w *world) *answer {
	v := w.visible()
	key := [2]uint64{maphash.Comparable(p.seeds[0], v), maphash.Comparable(p.seeds[1], v)}
	a, ok := p.known[key]
	if !ok {
		p.asked++
		a = &answer{}
		decisions := p.decisions(&v, circumstances{})
		a.moves = p.translate(decisions)
		for _, d := range decisions {
			a.returns[p.find(d.Environment)] = slices.ContainsFunc(d.Targets, func(t decide.RollbackTarget) bool { return t.Good })
		}
		p.known[key] = a
	}
	return a
}

// decisions returns what the program decides about a state: about environments, and then about their rings.
func (p *program) decisions(w *world, when circumstances) []decide.Decision {
	is := &p.open
	if when.stopped {
		is = &p.frozen
	}
	facts := decide.Facts{Chain: is.chain, Line: line(w), Merged: w.merged()}
	var ofRings []decide.Decision
	for i, c := range p.m.places {
		if c.ring {
			continue
		}
		e := p.place(w, i)
		if e.Rollout.State == decide.RolloutMerged {
			e.Verdict = p.verdict(w, i)
		}
		if chain, ok := is.rings[i]; ok {
			rings := p.decideRings(p.ringFacts(w, i, chain), when)
			ofRings = append(ofRings, rings.Decisions...)
			e.Rings, e.Verdict = true, rings.Verdict(revisionName(i, w.places[i].head))
			for k := range e.Carriers {
				e.Carriers[k].Spans = rings.Spans(e.Carriers[k].Revision, e.Carriers[k].Entered)
			}
		}
		facts.Environments = append(facts.Environments, e)
	}
	when.change(&facts)
	if p.seed != nil {
		p.seed(&facts)
	}
	return append(decide.Decide(facts, now), ofRings...)
}

// change puts facts into the circumstances.
func (c circumstances) change(f *decide.Facts) {
	for i := range f.Environments {
		e := &f.Environments[i]
		if c.stopped {
			e.Pause = &decide.Pause{By: "anna", At: now.Add(-moment)}
		}
		if c.statuses == nil && !c.lost {
			continue
		}
		e.Statuses, e.CheckStatuses = map[string]decide.Status{}, map[decide.CheckCommit]decide.Status{}
		for _, s := range c.statuses {
			switch {
			case s.Environment != e.Name:
			case s.Check != "":
				e.CheckStatuses[decide.CheckCommit{Check: s.Check, Commit: s.Commit}] = s.Status
			default:
				e.Statuses[s.Commit] = s.Status
			}
		}
		if c.lost {
			for _, commit := range f.Line {
				e.Statuses[commit] = decide.Status{State: decide.Pending, Description: "lost"}
			}
		}
	}
}

func (p *program) decideRings(f decide.Facts, when circumstances) *decide.Rings {
	when.change(&f)
	if p.seed != nil {
		p.seed(&f)
	}
	return decide.Together(f, now)
}

// ringFacts returns the facts of an environment's rings. What users say about the environment applies to them.
func (p *program) ringFacts(w *world, i int, chain *decide.Chain) decide.Facts {
	facts := decide.Facts{Chain: chain, Merged: w.merged(), Sources: map[string]string{}, SourceLine: line(w)}
	for r := uint8(1); r <= w.places[i].published; r++ {
		name := revisionName(i, r)
		facts.Line = append(facts.Line, name)
		facts.Sources[name] = commitName(w.places[i].commitOf(r))
	}
	for _, j := range p.m.rings(i) {
		e := p.place(w, j)
		e.Name = decide.RingName(p.m.places[i].name, p.m.places[j].name)
		e.Verdict = p.verdict(w, j)
		if e.Pause == nil && w.places[i].paused {
			e.Pause = &decide.Pause{By: "anna", At: now.Add(-moment)}
		}
		for _, b := range p.rollbacks(w, i) {
			b.All = true
			e.Rollbacks = append(e.Rollbacks, b)
		}
		for r := uint8(1); r <= w.places[i].published; r++ {
			if has(w.places[i].aborted, w.places[i].commitOf(r)) {
				e.Aborts = append(e.Aborts, decide.Abort{Commit: revisionName(i, r), By: "anna"})
			}
		}
		facts.Environments = append(facts.Environments, e)
	}
	return facts
}

// place returns the facts of a place without a verdict.
func (p *program) place(w *world, i int) decide.Environment {
	at, config := &w.places[i], &p.m.places[i]
	name := p.names(i)
	commit := at.commit
	if config.ring {
		commit = at.head
	}
	revision := revisionName(p.m.environment(i), at.head)
	e := decide.Environment{Name: config.name, Commit: name(commit), Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: revision}}
	e.Carriers = p.carriers(w, i)
	present := &e.Carriers[len(e.Carriers)-1]
	e.Checks, e.Approvals = present.Checks, present.Approvals
	if p.m.delivering(w, i) {
		e.Rollout, e.Checks, e.Approvals = decide.Rollout{State: decide.RolloutOpen}, nil, nil
	}
	if at.measuring == at.head {
		e.Checks = append(e.Checks, decide.CheckResult{Name: "smoke", Revision: revision, State: decide.CheckRunning})
	}
	if at.paused {
		e.Pause = &decide.Pause{By: "anna", At: now.Add(-moment)}
	}
	if at.proposal != 0 {
		e.Proposals = append(e.Proposals, decide.Proposal{From: e.Commit, Commit: name(at.proposal), State: decide.ProposalOpen})
	}
	if at.closed != 0 {
		e.Proposals = append(e.Proposals, decide.Proposal{From: e.Commit, Commit: name(at.closed), State: decide.ProposalClosed})
	}
	for c := uint8(1); c <= maxCommits; c++ {
		if has(at.aborted, c) {
			e.Aborts = append(e.Aborts, decide.Abort{Commit: name(c), By: "anna"})
		}
	}
	for r := uint8(1); r <= at.published; r++ {
		if config.ring && has(at.skipped, at.commitOf(r)) {
			e.Skips = append(e.Skips, decide.Skip{Commit: name(r), By: "anna", Why: "urgent"})
		}
	}
	p.addCommands(w, i, &e)
	return e
}

// lastAsked is when users last requested a commit in a place.
func (p *program) lastAsked(w *world, i int) time.Time {
	var last time.Time
	log := &w.logs[p.m.lanes[i]]
	for n, at := range log.times {
		if log.items[n].kind == asked && int(log.items[n].place) == i {
			last = at
		}
	}
	return last
}

// carriers returns what a place had, from the log of its environment.
func (p *program) carriers(w *world, i int) []decide.Carrier {
	log, environment := &w.logs[p.m.lanes[i]], p.m.environment(i)
	var all []decide.Carrier
	last := func() *decide.Carrier { return &all[len(all)-1] }
	var checks []decide.CheckResult
	var approvals []decide.Approval
	for n, at := range log.times {
		it := log.items[n]
		if int(it.place) == i {
			switch it.kind {
			case entered:
				if len(all) > 0 {
					closeCarrier(last(), at)
				}
				all = append(all, decide.Carrier{Commit: p.carried(w, i, it.value), Revision: revisionName(environment, it.value), Entered: at})
			case said:
				if spans := last().Spans; len(spans) > 0 {
					spans[len(spans)-1].To = at
				}
				is := standing(it.value)
				last().Spans = append(last().Spans, comply.Span{From: at, To: now, Standing: standings[is], Trouble: is == troubled})
			case measured:
				state := map[uint8]decide.CheckState{smokePassed: decide.CheckPassed, smokeFailed: decide.CheckFailed}[it.value&15]
				checks = append(checks, decide.CheckResult{Name: "smoke", Revision: revisionName(environment, it.value>>4), State: state, At: at})
			case asked:
				checks = slices.DeleteFunc(checks, func(r decide.CheckResult) bool { return p.carriedBy(w, i, r.Revision) == it.value })
				approvals = slices.DeleteFunc(approvals, func(a decide.Approval) bool { return a.By == commitName(it.value) })
			case approved:
				approvals = append(approvals, decide.Approval{Check: "release", By: p.names(i)(it.value), At: at})
			}
		}
	}
	for k := range all {
		c := &all[k]
		for _, r := range checks {
			if r.Revision == c.Revision {
				c.Checks = append(c.Checks, r)
			}
		}
		for _, a := range approvals {
			if a.By == c.Commit {
				a.By = "anna"
				c.Approvals = append(c.Approvals, a)
			}
		}
	}
	return all
}

// carriedBy is the commit that a revision carries.
func (p *program) carriedBy(w *world, i int, revision string) uint8 {
	environment := p.m.environment(i)
	return w.places[i].commitOf(numberOf(revision, func(n uint8) string { return revisionName(environment, n) }))
}

// carried is the name of what a revision carries: a commit; in a ring, the revision.
func (p *program) carried(w *world, i int, revision uint8) string {
	if p.m.places[i].ring {
		return revisionName(p.m.environment(i), revision)
	}
	return commitName(w.places[i].commitOf(revision))
}

var standings = map[standing]comply.Standing{
	stands: comply.StandingHolds, waiting: comply.StandingWaiting, troubled: comply.StandingWaiting, unknown: comply.StandingUnknown,
	behind: comply.StandingLost, failing: comply.StandingFailed,
}

// addCommands adds the users' commands whose order matters.
func (p *program) addCommands(w *world, i int, e *decide.Environment) {
	e.Requested = map[string]time.Time{}
	for k, o := range w.orders {
		switch {
		case o == order{} || int(o.place) != i:
		case o.kind == requests:
			e.Requested[p.names(i)(o.value)] = orderTime(k)
			e.Request = &decide.Request{ID: "1", Commit: p.names(i)(o.value), By: "anna", At: p.lastAsked(w, i)}
		case o.kind == rollsBack:
			e.Request = nil // the rollback says where to go
		case o.kind == aborts && e.Request != nil && e.Request.Commit == p.names(i)(o.value):
			e.Request = nil
		}
	}
	e.Rollbacks = p.rollbacks(w, i)
	for _, j := range p.m.rings(i) {
		for _, b := range p.rollbacks(w, j) {
			b.Commit = commitName(w.places[i].commitOf(numberOf(b.Commit, p.names(j))))
			b.In = decide.RingName(p.m.places[i].name, p.m.places[j].name)
			e.Rollbacks = append(e.Rollbacks, b)
		}
	}
}

// rollbacks returns the commands that took commits back in a place, without those that a later request for the commit undid.
func (p *program) rollbacks(w *world, i int) []decide.Rollback {
	var all []decide.Rollback
	for k, o := range w.orders {
		undone := false
		for _, later := range w.orders[k:] {
			undone = undone || later.kind == requests && later.place == o.place && later.value == o.value
		}
		if o.kind == rollsBack && int(o.place) == i && !undone {
			all = append(all, decide.Rollback{Commit: p.names(i)(o.value), By: "anna", At: orderTime(k)})
		}
	}
	return all
}

// orderTime is a time for a command: only its order among commands, merges and publications matters.
func orderTime(k int) time.Time { return now.Add(time.Duration(k-maxOrders) * time.Minute) }

// merged returns when the commits of the line were merged: before the first command that came later.
func (w *world) merged() map[string]time.Time {
	times := map[string]time.Time{}
	for c := uint8(1); c <= w.line; c++ {
		k := slices.IndexFunc(w.orders[:], func(o order) bool { return o == (order{}) || o.line >= c })
		times[commitName(c)] = orderTime(k).Add(-time.Second)
	}
	return times
}

// verdict is that of the clusters of a place.
func (p *program) verdict(w *world, i int) comply.Verdict {
	at, config := &w.places[i], &p.m.places[i]
	v := comply.Verdict{Commit: revisionName(p.m.environment(i), at.head)}
	n := &v.Counts
	n.Expected, n.Counted, n.Required = int(config.clusters), int(config.clusters), int(config.clusters)
	for _, c := range at.all(config.clusters) {
		switch {
		case c.offline():
			n.Offline++
		case c.knownRuns == at.head && c.knownHealth != well:
			n.Failed++
		case c.knownRuns == at.head:
			n.Reached++
		default:
			n.Behind++
		}
	}
	switch {
	case n.Failed > 0:
		v.Result, v.Reason = comply.Failed, "it fails"
	case n.Reached == n.Required:
		v.Result = comply.Passed
	default:
		v.Result, v.Reason = comply.Waiting, "it is behind"
	}
	return v
}

// translate returns the moves of decisions.
func (p *program) translate(decisions []decide.Decision) []move {
	var moves []move
	for _, d := range decisions {
		i := p.find(d.Environment)
		number := func(name string) uint8 { return numberOf(name, p.names(i)) }
		for _, a := range d.Actions {
			is := move{place: uint8(i)}
			switch a := a.(type) {
			case decide.Promote:
				is.kind, is.from, is.to, is.proposed = promotes, number(a.From), number(a.Commit), a.By == v1alpha1.ApprovalPullRequest
			case decide.ProposeRollback:
				is.kind, is.from, is.to, is.proposed = goesBack, number(a.From), number(a.To), a.By == v1alpha1.ApprovalPullRequest
			case decide.RunCheck:
				is.kind = measures
			case decide.Withdraw:
				is.kind = withdraws
			default:
				continue
			}
			moves = append(moves, is)
		}
	}
	return moves
}

// find returns the position of a place.
func (p *program) find(name string) int {
	environment, ring := decide.SplitRing(name)
	for i, c := range p.m.places {
		if c.name == name || c.ring && c.name == ring && p.m.places[c.after].name == environment {
			return i
		}
	}
	panic(name)
}

// names returns the names of what enters a place: commits; in a ring, revisions.
func (p *program) names(i int) func(uint8) string {
	if p.m.places[i].ring {
		return func(n uint8) string { return revisionName(p.m.environment(i), n) }
	}
	return commitName
}

func line(w *world) []string {
	var all []string
	for c := range w.line {
		all = append(all, commitName(c+1))
	}
	return all
}

var commitNames, revisionNames = func() (commits [maxCommits + 1]string, revisions [maxPlaces][maxRevisions + 1]string) {
	for c := 1; c <= maxCommits; c++ {
		commits[c] = fmt.Sprintf("%x%039d", 9+c, 0)
	}
	for e := range revisions {
		for r := 1; r <= maxRevisions; r++ {
			revisions[e][r] = fmt.Sprintf("%d%d%038d", e, r, 0)
		}
	}
	return commits, revisions
}()

func commitName(commit uint8) string {
	if commit > maxCommits {
		return ""
	}
	return commitNames[commit]
}

func revisionName(environment int, revision uint8) string {
	if revision > maxRevisions {
		return ""
	}
	return revisionNames[environment][revision]
}

// numberOf returns the number that has a name; 0 if none has.
func numberOf(name string, names func(uint8) string) uint8 {
	for n := uint8(1); n <= maxRevisions; n++ {
		if names(n) == name {
			return n
		}
	}
	return 0
}

// closeCarrier ends a carrier, and what was said of it last.
func closeCarrier(c *decide.Carrier, at time.Time) {
	c.Left = at
	if n := len(c.Spans); n > 0 {
		c.Spans[n-1].To = at
	}
}
