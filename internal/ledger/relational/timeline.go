package relational

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// severityShift is the position of the severity in the id of an outcome. Greater ids are less favourable.
const severityShift = 60

// OutcomeID returns the id of an outcome, the same in every ledger: the severity of the state and 60 bits of a hash.
func OutcomeID(o ledger.Outcome) int64 { return keyOf(o).id() }

// outcomeKey is an outcome as it is stored. Equal keys are equal outcomes.
type outcomeKey struct {
	source             ledger.Source
	revision, message  string
	state              ledger.State
	applied, unhealthy string
	health             int
}

func keyOf(o ledger.Outcome) outcomeKey {
	k := outcomeKey{
		source: o.Source, revision: o.Revision, state: o.State, message: o.Message, applied: o.Applied, health: o.Health.Severity(),
	}
	if len(o.Unhealthy) > 0 {
		text, _ := json.Marshal(o.Unhealthy) //nolint:errchkjson // texts only
		k.unhealthy = string(text)
	}
	return k
}

func (k outcomeKey) id() int64 {
	texts := []string{k.source.Repository, k.source.Ref, k.source.Path, k.revision, string(k.state), k.message}
	if unknown := hub.HealthUnknown.Severity(); k.applied != "" || k.unhealthy != "" || k.health != unknown {
		texts = append(texts, k.applied, strconv.Itoa(k.health), k.unhealthy)
	}
	return int64(k.state.Severity())<<severityShift | int64(hashOf(texts...)>>4)
}

// setHealth sets the fields of an outcome that are stored in another form.
func setHealth(o *ledger.Outcome, state, health int, unhealthy string) error {
	o.State, o.Health = hub.StateOf(state), hub.HealthOf(health)
	if unhealthy == "" {
		return nil
	}
	return json.Unmarshal([]byte(unhealthy), &o.Unhealthy)
}

// hashOf returns a hash of texts with their lengths.
func hashOf(texts ...string) uint64 {
	h := sha256.New()
	var size [8]byte
	for _, text := range texts {
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Fact is a stored observation. Times are microseconds.
type Fact struct {
	Reconciler, Observed, Received, Outcome int64
}

// Current is the state of a reconciler that follows from its facts.
type Current struct {
	Reconciler int64
	// Source and Outcome are those of the newest observation; 0 if there is none.
	Source, Outcome int64
	// Since is the first observation of the outcome without another outcome after it, Confirmed the last.
	Since, Confirmed, Received int64
}

// observed is a report with ids instead of names.
type observed struct {
	Fact
	source int64
}

// advance applies one observation to a state and reports whether it is a fact.
// If it arrives late, Since may have to be recomputed from the facts: unsettled.
//
//	facts so far       A        A     Since ... Confirmed
//	newer, the same    A        A  A  Confirmed moves
//	newer, another     A        A  B  both move
//	between, another   A   B    A     A resumed at the next fact with A
//	between, the same  A   A    A     matters if another outcome in between is reported later
//	older          C   A        A     a fact about the past
func advance(c *Current, o observed) (fact, unsettled bool) {
	same := o.Outcome == c.Outcome
	switch {
	case c.Outcome == 0, o.Observed > c.Confirmed && !same:
		*c = o.current()
		return true, false
	case o.Observed > c.Confirmed:
		c.Confirmed, c.Received = o.Observed, o.Received
		return true, false
	case o.Observed == c.Confirmed && o.Outcome <= c.Outcome:
		return false, false // known, or at the same time and more favourable
	case o.Observed == c.Confirmed:
		*c = o.current()
		return true, true
	}
	return true, !same || o.Observed < c.Since
}

// current returns the state of a reconciler with this newest observation.
func (o observed) current() Current {
	return Current{o.Reconciler, o.source, o.Outcome, o.Observed, o.Observed, o.Received}
}

// settled is how long observations that arrive late are expected. Until then, observations that only confirm the state are kept
// as facts, because a late one in between may show a change.
const settled = time.Hour

// Thin is a period, both ends exclusive, in which the outcome of a reconciler did not change.
type Thin struct{ Reconciler, From, To int64 }

// news is what reports add to the ledger.
type news struct {
	facts     []Fact  // one for each reconciler and time
	unsettled []int64 // reconcilers whose Since has to be recomputed
	thin      []Thin  // periods whose facts can be deleted
}

// advanceAll sorts observations by time and applies them to the states of their reconcilers.
func advanceAll(states map[int64]*Current, all []observed) news {
	slices.SortStableFunc(all, func(a, b observed) int {
		return cmp.Or(cmp.Compare(a.Reconciler, b.Reconciler), cmp.Compare(a.Observed, b.Observed), cmp.Compare(b.Outcome, a.Outcome))
	})
	all = slices.CompactFunc(all, func(a, b observed) bool { return a.Reconciler == b.Reconciler && a.Observed == b.Observed })
	var n news
	for i, o := range all {
		c := states[o.Reconciler]
		fact, late := advance(c, o)
		if fact {
			n.facts = append(n.facts, o.Fact)
		}
		if late {
			n.unsettled = append(n.unsettled, o.Reconciler)
		}
		last := i+1 == len(all) || all[i+1].Reconciler != o.Reconciler
		if to := c.Confirmed - settled.Microseconds(); last && fact && c.Since < to {
			n.thin = append(n.thin, Thin{o.Reconciler, c.Since, to})
		}
	}
	n.unsettled = slices.Compact(n.unsettled)
	// Since of an unsettled state is not known yet, so that the period could begin too early.
	n.thin = slices.DeleteFunc(n.thin, func(t Thin) bool {
		_, found := slices.BinarySearch(n.unsettled, t.Reconciler)
		return found
	})
	return n
}
