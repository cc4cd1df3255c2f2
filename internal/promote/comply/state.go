package comply

import (
	"fmt"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// reconciler determines the state of an expected reconciler.
func (j *judge) reconciler(e *Expected) Reconciler {
	r := Reconciler{Cluster: e.Cluster, ClusterType: e.ClusterType, Target: e.Target, State: Missing}
	mine, others := j.observed.following(e)
	heard := j.observed.heard(e, j.now)
	switch {
	case heard.IsZero():
		r.Reason = "has not reported yet"
	case silence(heard, e.ReadUntil, j.now) >= j.Gate.OfflineTime():
		r.State, r.Since = Offline, heard
		r.Reason = "no report since " + clock(heard, j.now)
		if len(mine) > 0 {
			r.Name, r.Revision, r.Applied = mine[0].Reconciler, mine[0].Revision, mine[0].applied()
		}
		return r
	case len(mine) == 0:
		r.Reason = nothingFollows(e, others)
	default:
		j.mayChange(heard.Add(j.Gate.OfflineTime()))
		return j.worst(r, mine)
	}
	if !heard.IsZero() {
		j.mayChange(heard.Add(j.Gate.OfflineTime()))
	}
	return r
}

func nothingFollows(e *Expected, others []*Observation) string {
	if len(others) == 0 {
		return fmt.Sprintf("no reconciler follows branch %s", revisions.Branch(e.Source.Ref))
	}
	for _, o := range others {
		if o.branch() == revisions.Branch(e.Source.Ref) {
			return fmt.Sprintf("%s follows folder %q instead of %q", summary(o.Reconciler), summary(cleanPath(o.Source.Path)), cleanPath(e.Source.Path))
		}
	}
	o := others[0]
	return fmt.Sprintf("%s follows %q instead of branch %s", summary(o.Reconciler), summary(o.branch()), revisions.Branch(e.Source.Ref))
}

// worst adds the worst state of several reconcilers: all that follow the branch must run the commit.
func (j *judge) worst(r Reconciler, following []*Observation) Reconciler {
	for i, o := range following {
		if i == 0 || o.Health.Severity() > r.Health.Severity() {
			r.Health = o.Health
		}
		state, reason := j.state(o)
		spared := state == Broken && j.spares(o)
		if spared {
			state, reason = Behind, reason+"; this began before the commit arrived, and does not count"
		}
		if i > 0 && (severity(state) < severity(r.State) || severity(state) == severity(r.State) && !r.Uncounted) {
			continue
		}
		r.Uncounted = spared
		r.Name, r.State, r.Reason, r.Revision, r.Applied = o.Reconciler, state, reason, o.Revision, o.applied()
		r.Since = o.since(j.now)
		r.Suspended = state == Behind && o.State == hub.StateSuspended
		switch {
		case state != Behind:
		case j.Unpublished && o.State != hub.StateReady:
			r.Since = time.Time{} // it tries again and again, and each attempt is a new state
		default:
			// It cannot be behind before the commit was published.
			r.Since = later(r.Since, earlier(j.Published, j.now))
		}
	}
	return r
}

// spares reports whether a failure does not count: it began by itself, at a revision without the commit.
func (j *judge) spares(o *Observation) bool {
	return j.Gate.SparesEarlier && o.BrokeAt.Hash != "" && !j.relationOf(o.BrokeAt.Hash).reached
}

// uncounted reports whether the gate does not count a reconciler.
func (j *judge) uncounted(r *Reconciler) bool {
	return r.Uncounted || r.State == Offline && j.Gate.Offline == v1alpha1.OfflineIgnore || r.Suspended && j.now.Before(j.Published.Add(j.Gate.MaxDelay))
}

// severity orders states from the best to the worst.
func severity(s State) int {
	switch s {
	case Reached:
		return 0
	case Behind:
		return 1
	case Missing:
		return 2
	case Offline:
		return 3
	default:
		return 4
	}
}

// fails reports whether a reconciler fails with what it runs, in a way that the gate does not accept.
func (j *judge) fails(o *Observation) bool {
	if o.Health == hub.HealthDegraded && o.applied() == o.Revision {
		return j.Gate.Healthy
	}
	return o.State == hub.StateFailed
}

// state returns the state of an observation with regard to the commit. A failure counts only at the commit or a descendant:
// a failure at an older revision may be fixed by the commit.
func (j *judge) state(o *Observation) (State, string) {
	rel := j.relationOf(o.Revision.Hash)
	at := atRevision(o.Revision)
	// A reconciler that applied its revision fails because of what it applied, and so it depends on the gate how that counts.
	fails := o.State == hub.StateFailed && (o.Health != hub.HealthDegraded || o.Applied != o.Revision)
	if j.relationOf(o.applied().Hash).reached && !fails {
		return j.applied(o)
	}
	switch {
	case j.Unpublished && o.State != hub.StateReady:
		return Behind, "waits for the first merge into branch " + o.branch()
	case o.State == hub.StateFailed && (rel.reached || o.Revision == revisions.Revision{}):
		return Broken, withMessage("fails"+at, o.Message)
	case o.State == hub.StateFailed:
		return Behind, withMessage("fails"+at, o.Message) + j.unknown(o)
	case o.State == hub.StateProgressing:
		return Behind, withMessage("is progressing"+at, o.Message) + j.unknown(o)
	case o.State == hub.StateSuspended:
		return Behind, "is suspended" + at + j.unknown(o)
	case o.State != hub.StateReady:
		return Behind, fmt.Sprintf("reports state %q%s", summary(string(o.State)), at)
	default:
		return Behind, "is ready" + at + j.unknown(o)
	}
}

// applied returns the state of a reconciler that applied the commit or a descendant.
func (j *judge) applied(o *Observation) (State, string) {
	at := " at " + o.applied().Short()
	runs := "runs " + o.applied().Short()
	if o.State == hub.StateSuspended {
		runs += ", suspended"
	}
	why := o.Unhealthy
	if why == "" {
		why = o.Message
	}
	switch {
	case o.Health == hub.HealthHealthy:
		return Reached, runs
	case !j.Gate.Healthy && o.Health == hub.HealthDegraded:
		return Reached, withMessage(runs+", degraded", why)
	case !j.Gate.Healthy:
		return Reached, runs
	case o.Health == hub.HealthDegraded:
		return Broken, withMessage("is degraded"+at, why)
	case o.Health == hub.HealthProgressing:
		return Behind, withMessage("is not healthy yet"+at, why)
	default:
		return Behind, runs + ", but its health is not known: " + healthHint(o.Reconciler)
	}
}

// healthHint says how a reconciler comes to report its health.
func healthHint(reconciler string) string {
	if strings.HasPrefix(reconciler, "Kustomization ") {
		return "set wait: true in the Kustomization, and use a recent agent"
	}
	return "use a recent agent"
}

// unknown returns a note if a revision is not in the branch's history.
func (j *judge) unknown(o *Observation) string {
	if o.Revision.Hash == "" || j.relationOf(o.Revision.Hash).known {
		return ""
	}
	return " (a revision that is not in the repository)"
}

func atRevision(r revisions.Revision) string {
	if r == (revisions.Revision{}) {
		return ""
	}
	return " at " + summary(r.Short())
}

func withMessage(what, message string) string {
	if message = oneLine(message); message == "" {
		return what
	}
	return what + ": " + message
}

// clock formats a time in UTC, without the date if it is today.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 UTC")
	}
	return t.Format("2006-01-02 15:04 UTC")
}
