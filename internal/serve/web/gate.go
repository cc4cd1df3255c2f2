package web

import (
	"cmp"
	"math"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// gateView is a gate with its bar.
type gateView struct {
	*query.Gate
	// Parts are the parts of the bar, from the left.
	Parts []barPart
	// Others counts the clusters that do not run the commit, by state, without empty states.
	Others []stateCount
	// Published is the commit that the gate counts, if it differs from the one on the page: that one
	// is not published yet. Empty otherwise.
	Published string
	// Trouble says what the gate does not count: on how many clusters workloads fail. Empty if they run.
	Trouble, TroubleTone string
}

// barPart is a part of a bar; From and Width are percentages of the whole.
type barPart struct {
	Tone        string
	From, Width float64
}

// stateCount counts things in a state.
type stateCount struct {
	State any
	Count int
}

// gateOf prepares the gate of a commit that is in a phase; nil if g is.
func gateOf(g *query.Gate, commit string, phase decide.State) *gateView {
	if g == nil {
		return nil
	}
	c := g.Counts
	all := []stateCount{
		{comply.Reached, c.Reached}, {comply.Behind, c.Behind}, {comply.Broken, c.Failed}, {comply.Offline, c.Offline}, {comply.Missing, c.Missing},
	}
	v := &gateView{Gate: g, Parts: barOf(all)}
	ahead := phase == decide.Proposed || phase == decide.Rejected
	if ahead && g.SourceCommit != commit || g.SourceCommit != "" && g.SourceCommit != commit {
		v.Published = cmp.Or(g.SourceCommit, g.Commit)
	}
	for _, one := range all[1:] {
		if one.Count > 0 {
			v.Others = append(v.Others, one)
		}
	}
	return v
}

// troubleTone is the tone of [query.Environment.Trouble].
func troubleTone(e *query.Environment) string {
	if e.Health != nil && e.Health.Workloads.Failed > 0 {
		return bad
	}
	return off
}

// Field has a square for each cluster; nil without clusters.
func (v *gateView) Field() *clusterField { return fieldOf(worstFirst(v.Counts)) }

// hundredths rounds to two digits.
func hundredths(x float64) float64 { return math.Round(x*100) / 100 }

// minPart is the smallest width of a part that is not empty: 4 of 1,203 clusters would be less than a pixel. The largest part is that much smaller,
// and the numbers beside the bar are exact.
const minPart = 2.0

// barOf puts the parts of a bar side by side.
func barOf(counts []stateCount) []barPart {
	total, largest := 0, 0
	for _, c := range counts {
		total += max(0, c.Count)
		largest = max(largest, c.Count)
	}
	var parts []barPart
	excess, at := 0.0, 0
	for _, c := range counts {
		if c.Count <= 0 {
			continue
		}
		width := 100 * float64(c.Count) / float64(total)
		excess += max(0, minPart-width)
		if c.Count == largest {
			at = len(parts)
		}
		parts = append(parts, barPart{Tone: tone(c.State), Width: max(width, minPart)})
	}
	from := 0.0
	for i := range parts {
		if i == at {
			parts[i].Width -= excess
		}
		parts[i].From, parts[i].Width, from = hundredths(from), hundredths(parts[i].Width), from+parts[i].Width
	}
	return parts
}
