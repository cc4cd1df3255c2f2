package comply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cause is why some reconcilers did not reach the commit. Reconcilers in the same state with the same error have one cause.
type Cause struct {
	State State `json:"state"`
	// Count is the number of reconcilers.
	Count int `json:"count"`
	// Clusters names the first few of them, sorted: each is a cluster, with the target or the cluster type if that is ambiguous.
	Clusters []string `json:"clusters"`
	// Reason is the whole reason of the reconciler that was first in this state. Errors with the same [Signature] count as the same.
	Reason string `json:"reason"`
	// Since is when the first of them was in this state; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Key identifies the cause in all environments.
	Key string `json:"-"`
	// first is the reconciler that Reason is about.
	first string
}

// Causes returns why reconcilers did not reach the commit: failures first, then offline, missing and behind ones;
// within a state the most frequent cause first, then the oldest.
func (v *Verdict) Causes() []Cause {
	var causes []Cause
	index := map[string]int{}
	for i := range v.Reconcilers {
		r := &v.Reconcilers[i]
		if r.State == Reached {
			continue
		}
		key := r.causeKey()
		at, known := index[key]
		if !known {
			at = len(causes)
			index[key] = at
			causes = append(causes, Cause{State: r.State, Reason: r.Reason, Since: r.Since, Key: key, first: v.title(i)})
		}
		c := &causes[at]
		c.Count++
		if len(c.Clusters) < named {
			c.Clusters = append(c.Clusters, v.title(i))
		}
		if !r.Since.IsZero() && (c.Since.IsZero() || r.Since.Before(c.Since)) {
			c.Since, c.Reason, c.first = r.Since, r.Reason, v.title(i)
		}
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(urgency(a.State), urgency(b.State)), cmp.Compare(b.Count, a.Count), a.Since.Compare(b.Since))
	})
	return causes
}

// Cause returns the most important cause with the cluster that had it first, so that it stays the same while more clusters fail in
// the same way. Without failures, it is the reason.
func (v *Verdict) Cause() string {
	if causes := v.Causes(); len(causes) > 0 && causes[0].State == Broken {
		return causes[0].first + " " + causes[0].Reason
	}
	return v.Reason
}

// More returns how many reconcilers Clusters does not name.
func (c Cause) More() int { return c.Count - len(c.Clusters) }

// String describes the cause: "3 clusters fail at 1f0c2aa (large-01, large-02, large-03): field is immutable".
func (c Cause) String() string {
	if c.Count == 1 {
		return c.Clusters[0] + " " + c.Reason
	}
	names := strings.Join(c.Clusters, ", ") + more(c.More())
	what, detail, has := strings.Cut(c.Reason, ": ")
	if plural, ok := strings.CutPrefix(what, "fails"); ok {
		what = "fail" + plural
	} else {
		what, detail, has = string(c.State), c.Reason, true
	}
	noun := "clusters"
	if strings.Contains(c.Clusters[0], "/") {
		noun = "reconcilers"
	}
	text := fmt.Sprintf("%d %s %s (%s)", c.Count, noun, what, names)
	if has {
		text += ": " + detail
	}
	return text
}

// causeKey identifies the cause of a reconciler's state.
func (r *Reconciler) causeKey() string {
	if r.State != Broken && r.State != Offline {
		return string(r.State) + " " + r.Reason
	}
	return string(r.State) + " " + Signature(r.Reason, r.Cluster)
}

// urgency orders states by how soon a user should look at them.
func urgency(s State) int { return slices.Index([]State{Broken, Offline, Missing, Behind, Reached}, s) }
