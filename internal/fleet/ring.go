package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Ring is a part of an environment's clusters.
type Ring struct {
	Name string
	// Selector, Percent and Clusters select clusters; at most one of them is set.
	Selector labels.Selector
	Percent  int
	Clusters []string
	// MaxUnavailable is the size of a batch; nil means all clusters.
	MaxUnavailable *intstr.IntOrString
}

// Stage is a part of an environment that is rolled out at once: a ring, or a batch of it.
type Stage struct {
	// Name is "<ring>", "<ring>.<batch>", or "<ring>.cluster-<cluster>".
	Name string
	Ring string
	// Clusters are its clusters, sorted.
	Clusters []string
	// Windows and Hold are those of the cluster of a stage of its own; others have none.
	Windows []v1alpha1.Window
	Hold    *v1alpha1.Hold
}

// ownStage begins the name of a stage that has one cluster, which says itself when it may be changed. Names of batches have only
// zeros and ones.
const ownStage = "cluster-"

// Own returns the cluster of a stage of its own.
func (s *Stage) Own() (cluster string, ok bool) { return strings.CutPrefix(s.Bits(), ownStage) }

// own returns the stage of a cluster that says when it may be changed; false for other clusters.
func (c *Cluster) own(ring string) (s Stage, ok bool) {
	if len(c.Windows) == 0 && c.Hold == nil {
		return Stage{}, false
	}
	return Stage{Name: StageName(ring, ownStage+c.Name), Ring: ring, Clusters: []string{c.Name}, Windows: c.Windows, Hold: c.Hold}, true
}

// RingOfStage returns the ring of a stage with a name.
func RingOfStage(name string) string {
	ring, _, _ := strings.Cut(name, ".")
	return ring
}

// StageName returns the name of a batch of a ring; no bits mean the whole ring.
func StageName(ring, bits string) string {
	if bits == "" {
		return ring
	}
	return ring + "." + bits
}

// Bits returns the bits of a batch: those of the batches that it was divided into begin with them. The whole ring has none.
func (s *Stage) Bits() string { return strings.TrimPrefix(s.Name[len(s.Ring):], ".") }

// RingBranch returns the branch that the clusters of a stage follow.
func RingBranch(environment, stage string) string { return environment + "-ring-" + stage }

// Stages divides the clusters of the environment into its rings, and those into batches, in the order of rollouts. A cluster that
// has windows or is on hold is a stage of its own, after the batches of its ring.
// It returns nil if the environment has no rings. Every ring has at least one stage, if need be without clusters.
// lost are clusters whose objects cannot be read; they stay in the rings that they name.
//
// A cluster moves only if its own ring or labels change, with two exceptions: a ring that is inserted takes the clusters that it
// selects, and a batch that becomes too large is divided.
func (s *Snapshot) Stages(lost []*Cluster) []Stage {
	if len(s.Rings) == 0 {
		return nil
	}
	rings, own := make([][]string, len(s.Rings)), make([][]Stage, len(s.Rings))
	for _, c := range slices.Concat(s.Clusters, lost) {
		i := s.ringOf(c)
		if stage, ok := c.own(s.Rings[i].Name); ok {
			own[i] = append(own[i], stage)
			continue
		}
		rings[i] = append(rings[i], c.Name)
	}
	var stages []Stage
	for i := range s.Rings {
		if len(rings[i]) > 0 || len(own[i]) == 0 {
			stages = append(stages, s.Rings[i].batches(rings[i])...)
		}
		slices.SortFunc(own[i], func(x, y Stage) int { return strings.Compare(x.Name, y.Name) })
		stages = append(stages, own[i]...)
	}
	return stages
}

// BatchOf returns the name of the batch that a cluster would be in if it had no stage of its own: the one of its ring, of
// those with these names. It returns "" if there is none.
func BatchOf(ring, cluster string, names []string) string {
	hash := hashOf(cluster)
	bits := ""
	for n := 0; ; n++ {
		if name := StageName(ring, bits); slices.Contains(names, name) {
			return name
		}
		if n == 64 {
			return ""
		}
		bits += strconv.Itoa(int(hash >> n & 1))
	}
}

// ringOf returns the index of a cluster's ring: the one that it names, or the first that selects it, or the last.
func (s *Snapshot) ringOf(c *Cluster) int {
	if i := slices.IndexFunc(s.Rings, func(r Ring) bool { return r.Name == c.Ring }); i >= 0 {
		return i
	}
	last := len(s.Rings) - 1
	for i := range s.Rings[:last] {
		if s.Rings[i].selects(s, c) {
			return i
		}
	}
	return last
}

func (r *Ring) selects(s *Snapshot, c *Cluster) bool {
	switch {
	case r.Clusters != nil:
		return slices.Contains(r.Clusters, c.Name)
	case r.Selector != nil:
		return c.Type != "" && r.Selector.Matches(labels.Set(s.ClusterType(c.Type).Of(c).ClusterLabels()))
	default:
		return percentile(c.Name) < float64(r.Percent)
	}
}

// hashOf returns a stable hash of a cluster's name.
func hashOf(cluster string) uint64 {
	sum := sha256.Sum256([]byte(cluster))
	return binary.BigEndian.Uint64(sum[:8])
}

// percentile returns a stable number from 0 to below 100 for a cluster.
func percentile(cluster string) float64 {
	return float64(hashOf(cluster)>>11) / (1 << 53) * 100
}

// maxBatches limits the batches of a ring, each of which has a branch.
const maxBatches = 256

// batches divides clusters into batches of at most MaxUnavailable. A batch that is too large is divided by the next bit of the
// hashes of its clusters, whose bits are its name. So a cluster that joins or leaves only divides or joins batches next to it.
// Percentiles use the first bits of the hash, which are alike in a ring with a percentage, so the batches use the last.
func (r *Ring) batches(clusters []string) []Stage {
	slices.Sort(clusters)
	size := r.batchSize(len(clusters))
	if len(clusters) <= size {
		return []Stage{{Name: r.Name, Ring: r.Name, Clusters: clusters}}
	}
	var stages []Stage
	var divide func(bits string, clusters []string)
	divide = func(bits string, clusters []string) {
		if len(clusters) == 0 {
			return
		}
		if len(clusters) <= size || len(bits) == 64 {
			stages = append(stages, Stage{Name: StageName(r.Name, bits), Ring: r.Name, Clusters: clusters})
			return
		}
		var halves [2][]string
		for _, c := range clusters {
			bit := hashOf(c) >> len(bits) & 1
			halves[bit] = append(halves[bit], c)
		}
		divide(bits+"0", halves[0])
		divide(bits+"1", halves[1])
	}
	divide("", clusters)
	return stages
}

// batchSize returns how many of n clusters may change at the same time; a percentage is rounded down, to at least 1.
func (r *Ring) batchSize(n int) int {
	if r.MaxUnavailable == nil {
		return math.MaxInt
	}
	count, percent, err := ParseCount(*r.MaxUnavailable)
	switch {
	case err != nil:
		return 1 // reported when it was read
	case percent:
		return max(n*count/100, 1)
	default:
		return max(count, 1)
	}
}

// ParseCount parses a number such as 3, or a percentage such as "25%".
func ParseCount(value intstr.IntOrString) (count int, percent bool, err error) {
	digits, percent := strings.CutSuffix(value.String(), "%")
	count, err = strconv.Atoi(digits)
	if err != nil || count < 0 || percent && count > 100 {
		return 0, false, fmt.Errorf(`%q is neither a number nor a percentage from "0%%" to "100%%"`, value.String())
	}
	return count, percent, nil
}

// rings takes the rings from the Environment on main, and reports clusters of rings that do not exist.
func (a *assembly) rings() {
	for _, e := range a.Main.Environments {
		if e.Value.Name != a.Environment || e.Value.Spec.Promotion == nil {
			continue
		}
		for _, r := range e.Value.Spec.Promotion.Rings {
			a.s.Rings = append(a.s.Rings, ringOf(r))
		}
	}
	if len(a.s.Rings) == 0 {
		a.s.LostRings = a.lostRings()
		a.windowsWithoutRings()
		return
	}
	names := make([]string, len(a.s.Rings))
	for i := range a.s.Rings {
		names[i] = a.s.Rings[i].Name
	}
	if !a.fewBatches() {
		a.s.Rings, a.s.LostRings = nil, true
		return
	}
	for _, c := range a.s.Clusters {
		if c.Ring != "" && !slices.Contains(names, c.Ring) {
			a.s.Problems = append(a.s.Problems, Problem{
				Severity: SeverityWarning, Kind: KindMissingObject, Object: Ref{Kind: kindCluster, Name: c.Name}, Position: c.Position,
				Message: fmt.Sprintf("environment %q has no ring %s, so that the other rules choose its ring", a.Environment, quoteShort(c.Ring)),
				Hint:    cmp.Or(didYouMean(c.Ring, names), "the rings are "+strings.Join(names, ", ")),
			})
		}
	}
}

// windowsWithoutRings warns about clusters with windows or a hold in an environment without rings, where these have no effect: reconcilers do not
// know them. The agent, which applies where there is no reconciler, does.
func (a *assembly) windowsWithoutRings() {
	direct := map[string]bool{}
	for _, ct := range a.s.ClusterTypes {
		direct[ct.Name] = cmp.Or(ct.Pull, ct.Reconciler) == "direct"
	}
	for _, c := range a.s.Clusters {
		if _, own := c.own(""); own && !a.s.LostRings && !direct[c.Type] {
			a.problem(SeverityWarning, KindInvalidValue, c, "give the environment rings, in spec.promotion.rings of the Environment",
				"windows and hold have no effect, because environment %q has no rings: its clusters follow its branch", a.Environment)
		}
	}
}

// fewBatches reports rings with too many stages.
func (a *assembly) fewBatches() bool {
	batches, own := map[string]int{}, map[string]int{}
	for _, s := range a.s.Stages(nil) {
		if _, ok := s.Own(); ok {
			own[s.Ring]++
		} else {
			batches[s.Ring]++
		}
	}
	ok := true
	report := func(message, hint string) {
		ok = false
		a.s.Problems = append(a.s.Problems, Problem{
			Severity: SeverityError, Kind: KindInvalidValue, Object: Ref{Kind: kindEnvironment, Name: a.Environment}, Position: a.environmentPosition(),
			Message: fmt.Sprintf("%s; the maximum is %d", message, maxBatches), Hint: hint + "; until then the rings stay as they are",
		})
	}
	for i := range a.s.Rings {
		r := &a.s.Rings[i]
		if n := batches[r.Name]; n > maxBatches {
			report(fmt.Sprintf("ring %q would have %d batches", r.Name, n), fmt.Sprintf("raise its maxUnavailable, which is %s", r.MaxUnavailable))
		}
		if n := own[r.Name]; n > maxBatches {
			report(fmt.Sprintf("ring %q would have %d clusters with windows of their own, or on hold", r.Name, n),
				"give clusters that share their windows a ring with these windows")
		}
	}
	return ok
}

// environmentPosition returns the position of the Environment on main.
func (a *assembly) environmentPosition() Position {
	for _, e := range a.Main.Environments {
		if e.Value.Name == a.Environment {
			return e.Position
		}
	}
	return Position{}
}

// lostRings reports whether the environment may have rings, in what cannot be read.
func (a *assembly) lostRings() bool {
	return slices.ContainsFunc(a.Main.Unreadable, func(u Unreadable) bool {
		return u.Ref == Ref{} && !slices.ContainsFunc(a.Main.Environments, func(e Object[v1alpha1.Environment]) bool { return e.Value.Name == a.Environment }) ||
			u.Ref.Kind == kindEnvironment && (u.Nameless || u.Ref.Name == a.Environment)
	})
}

func ringOf(r v1alpha1.Ring) Ring {
	ring := Ring{Name: r.Name, Percent: r.Percent, Clusters: r.Clusters, MaxUnavailable: r.MaxUnavailable}
	if r.Selector != nil {
		ring.Selector, _ = metav1.LabelSelectorAsSelector(r.Selector) // checked when it was read
	}
	return ring
}

// checkRings reports rings that select nothing, or whose fields have no effect.
func checkRings(d *decoder, root *yaml.Node, rings []v1alpha1.Ring, verify []v1alpha1.Verification) {
	d.elements(root, len(verify), func(n *yaml.Node, i int) {
		if slices.ContainsFunc(rings, func(r v1alpha1.Ring) bool { return r.Name == verify[i].Name }) {
			d.fail(KindDuplicate, lookup(n, "name"), "rename one of them", "a ring is called %q, too, and both have a commit status of this name", verify[i].Name)
		}
	}, "spec", "promotion", "verify")
	names := map[string]bool{}
	percent := 0
	d.elements(root, len(rings), func(n *yaml.Node, i int) {
		r, last := &rings[i], i == len(rings)-1
		d.require(n, "name")
		d.name(n, dnsLabel, "name")
		if len(r.Name) > maxRingName {
			d.fail(KindInvalidValue, lookup(n, "name"), "", "the name of a ring has at most %d characters", maxRingName)
		}
		if names[r.Name] && r.Name != "" {
			d.fail(KindDuplicate, lookup(n, "name"), "rename one of them", "two rings are called %q", r.Name)
		}
		names[r.Name] = true
		d.selector(n, r.Selector, "selector")
		for _, name := range []string{"selector", "percent", "clusters"} {
			if at := lookup(n, name); at != nil && last {
				d.fail(KindInvalidValue, at, "remove it, or add a ring for all other clusters", "%s has no effect: the last ring has all clusters that no other ring selects", d.field(name))
			}
		}
		chosen := slices.DeleteFunc([]string{"selector", "percent", "clusters"}, func(name string) bool { return lookup(n, name) == nil })
		switch {
		case len(chosen) > 1:
			d.fail(KindInvalidValue, lookup(n, chosen[1]), "keep one of them", "a ring has a selector, a percentage or a list of clusters, and this one has %s", strings.Join(chosen, " and "))
		case len(chosen) == 0 && !last:
			d.fail(KindInvalidValue, n, "add a selector, a percentage or a list of clusters", "ring %q selects no clusters; only the last one has all others", r.Name)
		}
		if at := lookup(n, "percent"); at != nil && at.Tag == "!!int" {
			if r.Percent <= percent || r.Percent > 100 {
				d.fail(KindInvalidValue, at, "a percentage includes that of the rings before",
					"percent %d is not between %d and 100", r.Percent, percent+1)
			}
			percent = max(percent, r.Percent)
		}
		if at := lookup(n, "soak"); at != nil && last {
			d.fail(KindInvalidValue, at, "write it in spec.promotion of the next environment", "soak has no effect: no ring comes after the last one")
		}
		for field, value := range map[string]*intstr.IntOrString{"maxUnavailable": r.MaxUnavailable, "maxFailures": r.MaxFailures} {
			if value == nil {
				continue
			}
			count, _, err := ParseCount(*value)
			if err != nil || field == "maxUnavailable" && count == 0 {
				d.fail(KindInvalidValue, lookup(n, field), `write a number such as 3, or a percentage such as "25%"`, "%s: %s is not how many clusters", d.field(field), quoteShort(value.String()))
			}
		}
		oneOf(d, n, r.Approval, []v1alpha1.RingApproval{v1alpha1.RingAutomatic, v1alpha1.RingManual}, "approval")
		oneOf(d, n, r.OnFailure, []v1alpha1.FailureAction{v1alpha1.FailureStop, v1alpha1.FailureRollback}, "onFailure")
	}, "spec", "promotion", "rings")
}

// maxRingName keeps the names of branches short.
const maxRingName = 40

// RingNames returns the names of the rings in the order of rollouts.
func (s *Snapshot) RingNames() []string {
	names := make([]string, len(s.Rings))
	for i := range s.Rings {
		names[i] = s.Rings[i].Name
	}
	return names
}

// StageOf returns the stage of each cluster.
func StageOf(stages []Stage) map[string]string {
	of := map[string]string{}
	for _, s := range stages {
		for _, c := range s.Clusters {
			of[c] = s.Name
		}
	}
	return of
}
