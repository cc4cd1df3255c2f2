package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
)

// Result is how one scan of one artifact stands.
type Result struct {
	Scan  string        `json:"scan"`
	Level check.Level   `json:"level"`
	What  check.Subject `json:"what"`
	// Reference is how the manifests name it; Digest is empty as long as nobody could look it up.
	Reference string   `json:"reference"`
	Digest    string   `json:"digest,omitempty"`
	Targets   []string `json:"targets,omitempty"`
	State     State    `json:"state"`
	// Again is that the program looks at it once more, because what it found is old. State is that of before.
	Again bool `json:"again,omitempty"`
	// Reason says why it waits or runs, or how old what was found is.
	Reason string `json:"reason,omitempty"`
	// Output is the end of what the program wrote, where it found something or came to no end.
	Output string `json:"output,omitempty"`
}

// ResultOf is the result of an artifact that nobody looked at yet, in a state with its reason.
func ResultOf(s check.Scan, a Artifact, state State, reason string) Result {
	return Result{Scan: s.Name, Level: s.Level, What: a.What, Reference: a.Reference, Digest: a.Digest, Targets: a.Targets, State: state, Reason: reason}
}

// With is the result with what a record of its scan says.
func (r Result) With(s check.Scan, record Record) Result {
	r.State, r.Reason, r.Output = record.State, record.Reason, record.Output
	if r.Reason == "" {
		return r
	}
	if due, ok := record.Due(s); ok {
		r.Reason += "; it is run again from " + due.Format(minute)
	}
	if record.Final() {
		r.Reason = "this is of " + record.Looked().Format(minute) + ": " + r.Reason
	}
	return r
}

// While is the result with what a record says while the program looks again.
func (r Result) While(record Record) Result {
	r.State, r.Output, r.Again = record.State, record.Output, true
	r.Reason = "this is of " + record.Looked().Format(minute) + ", and it is being scanned again"
	return r
}

// minute is how precisely people are told when something was, in UTC.
const minute = "2006-01-02 15:04 UTC"

// Runs reports whether the program looks at it now, or will as soon as others are done.
func (r Result) Runs() bool { return r.State == Running || r.Again }

// holds reports whether a result keeps the change from being merged until there is another: one that runs does, so that people
// see what it finds; one that nobody can come by does only where what it may find would refuse.
func (r Result) holds() bool {
	return r.Runs() || r.State == Waiting && r.Level == check.Refuse
}

// passedBefore reports whether nothing was found, and it is looked again.
func (r Result) passedBefore() bool { return r.State == Passed && r.Again }

// refuses reports whether a result refuses the change.
func (r Result) refuses() bool { return r.State == Found && r.Level == check.Refuse }

// Judge says what results mean together: [Found] refuses the change, [Running] holds it until everything is looked at,
// [Waiting] holds it until a person or another try helps, and [Passed] lets it through.
func Judge(results []Result) State {
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

// Summary says in a few words how scans stand, what matters most first: "1 refuses, 2 running, 4 passed".
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
	add("refuses", "refuse", found(check.Refuse))
	add("warns", "warn", found(check.Warn))
	add("informs", "inform", found(check.Inform))
	add("is waiting", "are waiting", in(Waiting))
	add("is running", "are running", in(Running))
	add("is scanned again", "are scanned again", Result.passedBefore)
	add("passed", "passed", in(Passed))
	return strings.Join(parts, ", ")
}

// Describe is the summary with the first reason why something waits, for a status of one line.
func Describe(results []Result) string {
	text := Summary(results)
	if Judge(results) != Waiting {
		return text
	}
	i := slices.IndexFunc(results, Result.holds)
	return fmt.Sprintf("%s: %s of %s: %s", text, results[i].Scan, results[i].Reference, results[i].Reason)
}

// order is that in which people read states.
var order = []State{Found, Waiting, Running, Passed}

// Sort brings results into the order in which people read them: what refuses first, what passed last.
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
