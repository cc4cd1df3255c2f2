package comply

import (
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Question is what a verdict answers: do these reconcilers run this commit?
type Question struct {
	Commit string // required; a full hash of the GitOps branch
	// Published is when the commit came to the branch; the time to reach it runs from then.
	// Zero means that it is not known, and then the time is never up.
	Published time.Time
	// Expected are the reconcilers that have to run it.
	Expected []Expected
	// Observations are what clusters said, in any order and any number of times.
	// Those that belong to nobody who is expected do no harm.
	Observations []Observation
	History      History // required
	Gate         Gate
}

// History says whether a hash is the commit that is asked for, or a descendant of it.
// known is false for one that is not in the repository, such as one that was pushed over.
type History func(hash string) (reached, known bool)

// HistoryOf is the history of known hashes: true for the commit and its descendants, false for all others.
func HistoryOf(hashes map[string]bool) History {
	return func(hash string) (bool, bool) {
		reached, known := hashes[hash]
		return reached, known
	}
}

// Judge gives the verdict on a question. It is deterministic: order and repetition of what is expected and observed do not matter.
func Judge(q Question, now time.Time) Verdict {
	j := judge{Question: q, now: now, observed: indexObservations(q.Observations), asked: map[string]relation{}}
	v := Verdict{Commit: q.Commit, Reconcilers: []Reconciler{}}
	for _, e := range sortExpected(slices.Clone(q.Expected)) {
		r := j.reconciler(&e)
		v.Reconcilers = append(v.Reconcilers, r)
		v.Counts.add(r.State)
	}
	v.Counts.Expected = len(v.Reconcilers)
	v.Counts.Counted = v.Counts.Expected
	if q.Gate.Offline == v1alpha1.OfflineIgnore {
		v.Counts.Counted -= v.Counts.Offline
	}
	v.Counts.Required = q.Gate.Require.of(v.Counts.Counted)
	v.Result = j.result(v.Counts)
	v.Reason = reason(&v, q.Gate, now)
	if v.Result == Passed {
		v.Since = passedSince(&v)
	}
	if deadline := j.deadline(); v.Result == Waiting && !deadline.IsZero() {
		j.mayChange(deadline)
	}
	v.Next = j.next
	return v
}

// judge is the work on one question.
type judge struct {
	Question
	now      time.Time
	observed *observations
	// asked remembers what the history said: thousands of clusters run a handful of revisions.
	asked map[string]relation
	next  time.Time
}

type relation struct{ reached, known bool }

// result weighs the counts. What is broken comes before what is late, since waiting does not mend it.
func (j *judge) result(c Counts) Result {
	switch {
	case c.Expected == 0 && j.Gate.AllowNone:
		return Passed
	case c.Expected == 0:
		return Nobody
	case c.Offline > 0 && j.Gate.Offline == v1alpha1.OfflineBlock:
		return Failed
	case c.Reached >= c.Required:
		return Passed
	case c.Failed > 0 && c.Counted-c.Failed < c.Required:
		return Failed
	case j.timedOut():
		return TimedOut
	default:
		return Waiting
	}
}

func (j *judge) timedOut() bool {
	deadline := j.deadline()
	return !deadline.IsZero() && !j.now.Before(deadline)
}

// deadline is when the time is up; zero when it never is.
func (j *judge) deadline() time.Time {
	if j.Gate.Timeout == 0 || j.Published.IsZero() {
		return time.Time{}
	}
	return j.Published.Add(j.Gate.Timeout)
}

// mayChange notes a time at which the verdict may be another one.
func (j *judge) mayChange(at time.Time) {
	if at.After(j.now) && (j.next.IsZero() || at.Before(j.next)) {
		j.next = at
	}
}

// relationOf asks the history once for each hash.
func (j *judge) relationOf(hash string) relation {
	if hash == "" {
		return relation{}
	}
	r, ok := j.asked[hash]
	if !ok {
		r.reached, r.known = j.History(hash)
		if hash == j.Commit {
			r = relation{reached: true, known: true}
		}
		j.asked[hash] = r
	}
	return r
}

// passedSince is when the gate was passed: when the last one that was required got there.
func passedSince(v *Verdict) time.Time {
	var since []time.Time
	for i := range v.Reconcilers {
		if v.Reconcilers[i].State == Reached {
			since = append(since, v.Reconcilers[i].Since)
		}
	}
	if len(since) < v.Counts.Required {
		return time.Time{} // nobody was expected
	}
	slices.SortFunc(since, time.Time.Compare)
	return since[v.Counts.Required-1]
}
