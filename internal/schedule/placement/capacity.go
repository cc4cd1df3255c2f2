package placement

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// assignmentsResource is the resource of which every assignment needs one.
const assignmentsResource = "assignments"

// capacity tracks what is taken of the cluster types that have limits. Amounts are in thousandths.
type capacity struct {
	resources []string  // that a cluster type limits, sorted
	needs     [][]int64 // by target and resource
	limit     [][]int64 // by cluster type and resource; unlimited where there is no limit. Nil without any.
	used      [][]int64 // as limit
	units     [][]resource.Format
	taken     []map[int32]*taker // by cluster type: the targets that take from it
}

// taker is an assignment that takes from a cluster type.
type taker struct {
	policies []int32 // that chose it
	priority int     // the highest of theirs
	stays    bool    // whatever they choose
}

const unlimited = -1

// newCapacity has taken what stays because something cannot be read. Of targets that cannot be read, that is their number only:
// what they request is unknown.
func newCapacity(d *Decisions, s *standing) capacity {
	names := map[string]bool{}
	for _, ct := range d.clusterTypes {
		for name := range ct.Capacity {
			names[name] = true
		}
	}
	c := capacity{resources: slices.Sorted(maps.Keys(names))}
	if len(c.resources) == 0 {
		return c
	}
	c.needs = make([][]int64, len(d.targets))
	for i, t := range d.targets {
		c.needs[i] = c.needsOf(t)
	}
	n := len(d.clusterTypes)
	c.limit, c.used, c.units, c.taken = make([][]int64, n), make([][]int64, n), make([][]resource.Format, n), make([]map[int32]*taker, n)
	for i, ct := range d.clusterTypes {
		if len(ct.Capacity) == 0 {
			continue
		}
		c.limit[i], c.used[i], c.units[i] = make([]int64, len(c.resources)), make([]int64, len(c.resources)), make([]resource.Format, len(c.resources))
		c.taken[i] = map[int32]*taker{}
		for n, name := range c.resources {
			c.limit[i][n] = unlimited
			if q, limits := ct.Capacity[name]; limits {
				c.limit[i][n], c.units[i][n] = q.MilliValue(), q.Format
			}
			if name == assignmentsResource {
				c.used[i][n] = 1000 * s.foreign[i]
			}
		}
	}
	for target, pairs := range s.pairs {
		for _, p := range pairs {
			if p.stays {
				c.take(int32(target), p.clusterType).stays = true
			}
		}
	}
	return c
}

func (c *capacity) needsOf(t *fleet.Target) []int64 {
	needs := make([]int64, len(c.resources))
	for n, name := range c.resources {
		q := t.Requests[name]
		needs[n] = q.MilliValue()
		if name == assignmentsResource {
			needs[n] = 1000
		}
	}
	return needs
}

// limits reports whether one of the cluster types has limits.
func (c *capacity) limits(clusterTypes []int32) bool {
	return len(c.resources) > 0 && slices.ContainsFunc(clusterTypes, func(ct int32) bool { return c.limit[ct] != nil })
}

// fits reports whether there is room for a target on a cluster type, or it has its place there already.
func (c *capacity) fits(target, clusterType int32) bool {
	if len(c.resources) == 0 || c.limit[clusterType] == nil || c.taken[clusterType][target] != nil {
		return true
	}
	return c.lacking(target, clusterType) < 0
}

// lacking returns the first resource of which there is not enough; -1 if there is enough of all.
func (c *capacity) lacking(target, clusterType int32) int {
	for n, limit := range c.limit[clusterType] {
		if need := c.needs[target][n]; limit != unlimited && need > 0 && need > limit-c.used[clusterType][n] {
			return n
		}
	}
	return -1
}

// full explains why a target does not fit.
func (c *capacity) full(target, clusterType int32) string {
	n := c.lacking(target, clusterType)
	if n < 0 {
		return ""
	}
	amount := func(milli int64) string {
		return resource.NewMilliQuantity(milli, c.units[clusterType][n]).String()
	}
	limit, used := c.limit[clusterType][n], c.used[clusterType][n]
	return fmt.Sprintf("%s: it needs %s, %s of %s are free", c.resources[n], amount(c.needs[target][n]), amount(max(limit-used, 0)), amount(limit))
}

// take reserves the place of a target, without regard to limits. A place that several policies chose is reserved once.
func (c *capacity) take(target, clusterType int32) *taker {
	if len(c.resources) == 0 || c.limit[clusterType] == nil {
		return &taker{}
	}
	if known := c.taken[clusterType][target]; known != nil {
		return known
	}
	t := &taker{}
	c.taken[clusterType][target] = t
	for n := range c.resources {
		c.used[clusterType][n] += c.needs[target][n]
	}
	return t
}

// release gives a place back, unless it stays.
func (c *capacity) release(target, clusterType int32) {
	if t := c.taken[clusterType][target]; t == nil || t.stays {
		return
	}
	delete(c.taken[clusterType], target)
	for n := range c.resources {
		c.used[clusterType][n] -= c.needs[target][n]
	}
}
