package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
)

// Result is the result of a scan of one artifact.
type Result struct {
	Scan  string        `json:"scan"`
	Level check.Level   `json:"level"`
	What  check.Subject `json:"what"`
	// Reference is the artifact's name in the manifests. Digest is empty until it has been looked up.
	Reference string   `json:"reference"`
	Digest    string   `json:"digest,omitempty"`
	Targets   []string `json:"targets,omitempty"`
	State     State    `json:"state"`
	// Again means that the scan is running again, because its result has expired. State is that of the previous run.
	Again bool `json:"again,omitempty"`
	// Reason explains why the scan waits or runs, or how old the result is.
	Reason string `json:"reason,omitempty"`
	// Output is the end of the program's output, if it found something or failed.
	Output string `json:"output,omitempty"`
}

// ResultOf returns the result of an artifact without a record, in a state with its reason.
func ResultOf(s check.Scan, a Artifact, state State, reason string) Result {
	return Result{Scan: s.Name, Level: s.Level, What: a.What, Reference: a.Reference, Digest: a.Digest, Targets: a.Targets, State: state, Reason: reason}
}

// With returns the result with the outcome of a record.
func (r Result) With(s check.Scan, record Record) Result {
	r.State, r.Reason, r.Output = record.State, record.Reason, record.Output
	if r.Reason == "" {
		return r
	}
	if due, ok := record.Due(s); ok {
		r.Reason += "; it is run again from " + due.Format(minute)
	}
	if record.Final() {
		r.Reason = "scanned at " + record.Completed().Format(minute) + ": " + r.Reason
	}
	return r
}

// While returns the result with the outcome of a record while the scan runs again.
func (r Result) While(record Record) Result {
	r.State, r.Output, r.Again = record.State, record.Output, true
	r.Reason = "scanned at " + record.Completed().Format(minute) + ", and it is being scanned again"
	return r
}

// minute is the format of times in messages, in UTC.
const minute = "2006-01-02 15:04 UTC"

// Runs reports whether the scan is running or queued.
func (r Result) Runs() bool { return r.State == Running || r.Again }

// holds reports whether a result blocks merging until there is another one. A running scan does, so that reviewers
// see its result. A scan that cannot run blocks only if its findings would refuse.
func (r Result) holds() bool {
	return r.Runs() || r.State == Waiting && r.Level == check.Refuse
}

// passedBefore reports whether the scan passed, and is running again.
func (r Result) passedBefore() bool { return r.State == Passed && r.Again }

// refuses reports whether a result refuses the pull request.
func (r Result) refuses() bool { return r.State == Found && r.Level == check.Refuse }

// Combine combines results: [Found] refuses the pull request, [Running] blocks it until all scans have ended, [Waiting]
// blocks it until a user fixes the cause or a retry succeeds, and [Passed] allows it.
func Combine(results []Result) State {
	verdict := Passed
	for _, r := range results {
		switch {
		case r.refuses():
			return Found
		case r.Runs():
			verdict = Running
		case r.holds() && verdict == Passed:
			verdict = Waiting
		}
	}
	return verdict
}

// Summary counts the results, most important first: "1 refuses, 2 running, 4 passed".
func Summary(results []Result) string {
	if len(results) == 0 {
		return "nothing to scan"
	}
	var parts []string
	add := func(one, many string, is func(Result) bool) {
		n := 0
		for _, r := range results {
			if is(r) {
				n++
			}
		}
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	found := func(level check.Level) func(Result) bool {
		return func(r Result) bool { return r.State == Found && r.Level == level }
	}
	in := func(state State) func(Result) bool {
		return func(r Result) bool { return r.State == state && !r.passedBefore() }
	}
	add("refusal", "refusals", found(check.Refuse))
	add("warning", "warnings", found(check.Warn))
	add("notice", "notices", found(check.Inform))
	add("is waiting", "are waiting", in(Waiting))
	add("is running", "are running", in(Running))
	add("is scanned again", "are scanned again", Result.passedBefore)
	add("passed", "passed", in(Passed))
	return strings.Join(parts, ", ")
}

// Describe returns the summary with the first reason why a scan waits, for a status of one line.
func Describe(results []Result) string {
	text := Summary(results)
	if Combine(results) != Waiting {
		return text
	}
	i := slices.IndexFunc(results, Result.holds)
	return fmt.Sprintf("%s: %s of %s: %s", text, results[i].Scan, results[i].Reference, results[i].Reason)
}

// order is the display order of states.
var order = []State{Found, Waiting, Running, Passed}

// Sort sorts results for display: those that refuse first, those that passed last.
func Sort(results []Result) {
	levels := []check.Level{check.Refuse, check.Warn, check.Inform}
	slices.SortFunc(results, func(a, b Result) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)),
			cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)),
			cmp.Compare(a.Scan, b.Scan), cmp.Compare(a.Reference, b.Reference), cmp.Compare(a.Digest, b.Digest),
		)
	})
}
