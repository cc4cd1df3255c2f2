package comply

import (
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Question is the input of [Judge]: do these reconcilers run this commit?
type Question struct {
	Commit string // required; a full hash of the GitOps branch
	// Published is when the commit was pushed to the branch. The timeout counts from then. If zero, there is no timeout.
	Published time.Time
	// Unpublished means that the branch has no manifests yet, because its first pull request is not merged. Reconcilers report errors
	// until then, such as a folder that does not exist; none of them counts as a failure.
	Unpublished bool
	// Expected are the reconcilers that should run it.
	Expected []Expected
	// Observations may be in any order, repeated, and about other reconcilers.
	Observations []Observation
	History      History // required
	Gate         Gate
}

// History reports whether a hash is the commit or a descendant of it.
// known is false for a hash that is not in the repository, such as after a force push.
type History func(hash string) (reached, known bool)

// HistoryOf returns a history of known hashes: true for the commit and its descendants, false for others.
func HistoryOf(hashes map[string]bool) History {
	return func(hash string) (bool, bool) {
		reached, known := hashes[hash]
		return reached, known
	}
}

// Judge returns the verdict. The order and repetition of expected reconcilers and observations do not matter.
func Judge(q Question, now time.Time) Verdict {
	j := judge{Question: q, now: now, observed: indexObservations(q.Observations), relations: map[string]relation{}}
	v := Verdict{Commit: q.Commit, Reconcilers: make([]Reconciler, 0, len(q.Expected))}
	limit := q.Published.Add(q.Gate.MaxDelay)
	for _, e := range sortExpected(slices.Clone(q.Expected)) {
		r := j.reconciler(&e)
		r.Uncounted = j.uncounted(&r)
		v.Reconcilers = append(v.Reconcilers, r)
		v.Counts.add(&r)
		if !r.Uncounted {
			v.Counts.Counted++
		}
	}
	v.Counts.Expected = len(v.Reconcilers)
	delayed := ""
	if v.Counts.Suspended > 0 && now.Before(limit) {
		j.mayChange(limit)
		delayed = "; those that are suspended do not count until " + clock(limit, now)
	}
	v.Counts.require(q.Gate)
	v.Result = j.result(v.Counts)
	v.Reason = reason(&v, q.Gate, now) + delayed
	if v.Result == Passed {
		v.Since = passedSince(&v)
	}
	if deadline := j.deadline(); v.Result == Waiting && !deadline.IsZero() {
		j.mayChange(deadline)
	}
	v.Next = j.next
	return v
}

// require sets how many reconcilers are required. Those that may fail are not.
func (c *Counts) require(gate Gate) {
	c.Required = gate.Require.of(c.Counted)
	if c.Failed > 0 && c.Failed <= gate.MaxFailures.tolerated(c.Counted) {
		c.Required = max(min(c.Required, c.Counted-c.Failed), 1)
	}
}

// judge is the state of [Judge].
type judge struct {
	Question
	now      time.Time
	observed *observations
	// relations caches results of History: thousands of clusters run a few revisions.
	relations map[string]relation
	next      time.Time
}

type relation struct{ reached, known bool }

// result derives the result from the counts. Failed comes before timed out, because waiting does not fix a failure.
func (j *judge) result(c Counts) Result {
	switch {
	case c.Expected == 0 && j.Gate.AllowNone:
		return Passed
	case c.Expected == 0:
		return NoClusters
	case c.Offline > 0 && j.Gate.Offline == v1alpha1.OfflineBlock:
		return Failed
	case j.Gate.MaxFailures.Count > 0 && c.Failed > j.Gate.MaxFailures.tolerated(c.Counted):
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

// deadline returns when the timeout ends; zero if never.
func (j *judge) deadline() time.Time {
	if j.Gate.Timeout == 0 || j.Published.IsZero() {
		return time.Time{}
	}
	return j.Published.Add(j.Gate.Timeout)
}

// mayChange records a time at which the verdict may change.
func (j *judge) mayChange(at time.Time) {
	if at.After(j.now) && (j.next.IsZero() || at.Before(j.next)) {
		j.next = at
	}
}

// relationOf calls History once for each hash.
func (j *judge) relationOf(hash string) relation {
	if hash == "" {
		return relation{}
	}
	r, ok := j.relations[hash]
	if !ok {
		r.reached, r.known = j.History(hash)
		if hash == j.Commit {
			r = relation{reached: true, known: true}
		}
		j.relations[hash] = r
	}
	return r
}

// passedSince returns when the last required reconciler reached the commit.
func passedSince(v *Verdict) time.Time {
	var since []time.Time
	for i := range v.Reconcilers {
		if v.Reconcilers[i].State == Reached {
			since = append(since, v.Reconcilers[i].Since)
		}
	}
	if len(since) < v.Counts.Required {
		return time.Time{} // none was expected
	}
	slices.SortFunc(since, time.Time.Compare)
	return since[v.Counts.Required-1]
}
