package comply

import (
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// named is how many clusters a reason names; it counts the others.
const named = 3

// reason explains a verdict: what is missing, the worst first, with the names of clusters to check.
func reason(v *Verdict, gate Gate, now time.Time) string {
	c, what := v.Counts, v.noun()
	switch {
	case c.Expected == 0 && v.Result == Passed:
		return "no cluster is expected to run it, and the gate allows that"
	case c.Expected == 0:
		return "no cluster is expected to run it; register one, or set allowNone: true"
	case c.Counted == 0 && c.Offline > 0 && c.Suspended == 0:
		return fmt.Sprintf("%d of %d %s offline and ignored: no clusters left to check", c.Offline, c.Expected, what)
	}
	parts := v.parts(what, now)
	switch v.Result {
	case Passed:
		parts = append([]string{fmt.Sprintf("%d of %d %s reached it", c.Reached, c.Expected, what)}, parts...)
	case TimedOut:
		parts = append([]string{fmt.Sprintf("not within %s", span(gate.Timeout))}, parts...)
	}
	if c.Required > c.Counted && c.Counted > 0 {
		parts = append(parts, fmt.Sprintf("%d required but only %d counted", c.Required, c.Counted))
	} else if c.Required < c.Counted && v.Result != Passed {
		parts = append(parts, fmt.Sprintf("%d required", c.Required))
	}
	if c.Offline > 0 && gate.Offline == v1alpha1.OfflineIgnore {
		parts = append(parts, "offline clusters are ignored")
	}
	if c.Failed > 0 {
		return strings.Join(parts, "; ") // errors contain commas
	}
	return strings.Join(parts, ", ")
}

// parts describes the reconcilers that did not reach the commit, by state.
func (v *Verdict) parts(what string, now time.Time) []string {
	var parts []string
	for _, s := range []State{Broken, Behind, Missing, Offline} {
		of := v.in(s)
		if len(of) == 0 {
			continue
		}
		if s == Broken {
			parts = append(parts, v.failures()...)
			continue
		}
		if s == Offline && len(of) <= named {
			parts = append(parts, v.offline(of, now))
			continue
		}
		part := fmt.Sprintf("%d of %d %s %s: %s", len(of), v.Counts.Expected, what, s, v.names(of))
		if len(of) == 1 {
			part += " " + v.Reconcilers[of[0]].Reason
		}
		parts = append(parts, part)
	}
	return parts
}

// in returns the indexes of the reconcilers in a state.
func (v *Verdict) in(s State) []int {
	var in []int
	for i := range v.Reconcilers {
		if v.Reconcilers[i].State == s {
			in = append(in, i)
		}
	}
	return in
}

// failures describes the failures, each cause once and whole.
func (v *Verdict) failures() []string {
	var parts []string
	others := 0
	for _, c := range v.Causes() {
		switch {
		case c.State != Broken:
		case len(parts) < named:
			parts = append(parts, c.String())
		default:
			others += c.Count
		}
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%d more with other errors", others))
	}
	return parts
}

// offline describes clusters one by one.
func (v *Verdict) offline(of []int, now time.Time) string {
	var parts []string
	for _, i := range of {
		parts = append(parts, fmt.Sprintf("%s offline since %s", v.title(i), clock(v.Reconcilers[i].Since, now)))
	}
	return strings.Join(parts, ", ")
}

func (v *Verdict) names(of []int) string {
	var titles []string
	for _, i := range of[:min(len(of), named)] {
		titles = append(titles, v.title(i))
	}
	return strings.Join(titles, ", ") + more(len(of)-named)
}

// title returns the name of the cluster, with the target or the cluster type if the name is ambiguous.
func (v *Verdict) title(i int) string {
	r := &v.Reconcilers[i]
	switch {
	case r.Target != "":
		return r.Cluster + "/" + r.Target
	case v.sameCluster(i-1, i) || v.sameCluster(i, i+1):
		return r.Cluster + "/" + r.ClusterType
	default:
		return r.Cluster
	}
}

// sameCluster reports whether two indexes are valid and belong to the same cluster.
func (v *Verdict) sameCluster(i, next int) bool {
	return i >= 0 && next < len(v.Reconcilers) && v.Reconcilers[i].Cluster == v.Reconcilers[next].Cluster
}

// noun returns what is counted: clusters, or reconcilers if a cluster has several.
func (v *Verdict) noun() string {
	noun := "cluster"
	for i := range v.Reconcilers {
		if v.Reconcilers[i].Target != "" || v.sameCluster(i, i+1) {
			noun = "reconciler"
			break
		}
	}
	if len(v.Reconcilers) == 1 {
		return noun
	}
	return noun + "s"
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// span formats a duration without trailing zero units: 1h30m, not 1h30m0s.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
