package solution

import (
	"cmp"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
)

// MaxFindings is the number of findings that a version has at most, so that many targets with warnings do not make it too large to publish.
const MaxFindings = 5000

// Checks are the results of the checks of all manifests.
type Checks struct {
	// Policy says whose rules were checked: [PolicyBuiltIn] or [PolicyPlatform].
	Policy string `json:"policy"`
	// Findings are sorted by file and line. There are at most [MaxFindings].
	Findings []check.Finding `json:"findings"`
	// Omitted counts the findings beyond these by level. The most severe ones are kept.
	Omitted map[check.Level]int `json:"omitted,omitempty"`
}

// The values of [Checks.Policy].
const (
	PolicyBuiltIn  = "built-in"
	PolicyPlatform = "platform"
)

// NewChecks returns the results of checks by a policy. The findings are sorted.
func NewChecks(policy string, findings []check.Finding) Checks {
	c := Checks{Policy: policy, Findings: append([]check.Finding{}, findings...)}
	if len(findings) <= MaxFindings {
		return c
	}
	bySeverity := make([]int, len(findings))
	for i := range findings {
		bySeverity[i] = i
	}
	slices.SortStableFunc(bySeverity, func(a, b int) int {
		return cmp.Compare(findings[b].Level.Severity(), findings[a].Level.Severity())
	})
	c.Omitted = map[check.Level]int{}
	for _, i := range bySeverity[MaxFindings:] {
		c.Omitted[findings[i].Level]++
	}
	kept := bySeverity[:MaxFindings]
	slices.Sort(kept)
	for to, from := range kept {
		c.Findings[to] = findings[from]
	}
	c.Findings = c.Findings[:MaxFindings]
	return c
}

// Count returns the number of findings of some levels, with those that were left out.
func (c *Checks) Count(of func(check.Level) bool) int {
	n := 0
	for _, f := range c.Findings {
		if of(f.Level) {
			n++
		}
	}
	for level, omitted := range c.Omitted {
		if of(level) {
			n += omitted
		}
	}
	return n
}
