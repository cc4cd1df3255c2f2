package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// facts is the short notation of a test case: text instead of structures, and times of one day.
type facts struct {
	Now string
	// Explicit is an explicit chain.
	Explicit []string
	Line     []string
	Authors  map[string][]string
	// Merged are the times of commits.
	Merged       map[string]string
	Environments []environment
}

type environment struct {
	Name      string
	Promotion *v1alpha1.Promotion
	// Outside marks an environment of the chain that has no facts.
	Outside bool

	Unknown, Commit, Head string
	// Rollout is "merged g4", "open" or "refused why".
	Rollout string
	Verdict *verdict
	// History is what the place had, in the notation of past. Statuses maps commits to statuses such as "success Deployed".
	History  []string
	Statuses map[string]string
	// Proposals are written as "open c3 c4", checks as "smoke g4 passed", pauses, aborts and orders as "c4 anna no good".
	Proposals, Checks, Aborts []string
	Bypasses, Approvals       []string
	CheckStatuses             map[string]string `json:"checkStatuses"`
	Pause, Order              string
	// Rollbacks are written as "c4 09:30 anna errors in the shop".
	Rollbacks []string
}

type verdict struct {
	Of, Result, Reason, Next string
	Reached, Counted, Failed int
	Offline, Required        int
}

// TestRules runs the cases of testdata, one for each rule. The golden text holds the problems of the chain and the decisions.
func TestRules(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		var f facts
		if err := yaml.UnmarshalStrict([]byte(c.Text("facts")), &f); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		parsed := f.parse(&b)
		decisions := decide.Decide(parsed, clock(f.Now))
		b.WriteString(format(decisions))
		c.Golden(t, "golden", b.String())
		if c.Text("targets") != "" {
			c.Golden(t, "targets", formatTargets(decisions))
		}
	})
}

// parse returns the facts, and writes the problems of the chain.
func (f *facts) parse(problems *strings.Builder) decide.Facts {
	var stages []decide.Stage
	parsed := decide.Facts{Line: f.Line, Authors: f.Authors, Merged: map[string]time.Time{}}
	for commit, at := range f.Merged {
		parsed.Merged[commit] = clock(at)
	}
	for i := range f.Environments {
		e := &f.Environments[i]
		stages = append(stages, decide.Stage{Name: e.Name, Promotion: e.Promotion})
		if !e.Outside {
			parsed.Environments = append(parsed.Environments, e.parse(clock(f.Now)))
		}
	}
	chain, found := decide.NewChain(stages, f.Explicit)
	for _, p := range found {
		fmt.Fprintf(problems, "problem of %s: %s %s (%s)\n", p.Object.Name, p.Kind, p.Message, p.Hint)
	}
	fmt.Fprintf(problems, "chain: %s\n", strings.Join(chain.Names(), ", "))
	parsed.Chain = chain
	return parsed
}

func (e *environment) parse(now time.Time) decide.Environment {
	state, rest, _ := strings.Cut(e.Rollout, " ")
	parsed := decide.Environment{
		Name: e.Name, Unknown: e.Unknown, Commit: e.Commit, Head: e.Head,
		Rollout: decide.Rollout{State: decide.RolloutState(state)},
	}
	if state == string(decide.RolloutMerged) {
		parsed.Rollout.Commit = rest
	} else {
		parsed.Rollout.Reason = rest
	}
	if v := e.Verdict; v != nil {
		parsed.Verdict = comply.Verdict{
			Commit: rest, Result: comply.Result(v.Result), Reason: v.Reason, Next: clock(v.Next),
			Counts: comply.Counts{Reached: v.Reached, Counted: v.Counted, Failed: v.Failed, Offline: v.Offline, Required: v.Required},
		}
		if v.Of != "" {
			parsed.Verdict.Commit = v.Of
		}
	}
	before := past{now: now}
	if e.Promotion != nil {
		for _, c := range e.Promotion.Verify {
			before.checks = append(before.checks, c.Name)
		}
	}
	for _, text := range e.History {
		before.add(text)
	}
	parsed.Carriers = before.of(parsed.Commit, parsed.Rollout)
	for commit, text := range e.Statuses {
		state, description, _ := strings.Cut(text, " ")
		if parsed.Statuses == nil {
			parsed.Statuses = map[string]decide.Status{}
		}
		parsed.Statuses[commit] = decide.Status{State: decide.StatusState(state), Description: description}
	}
	e.parsePeople(&parsed)
	e.parseChecks(&parsed)
	return parsed
}

// parsePeople parses the commands of users and the results of verifications.
func (e *environment) parsePeople(parsed *decide.Environment) {
	for _, text := range e.Proposals {
		w := strings.Fields(text)
		parsed.Proposals = append(parsed.Proposals, decide.Proposal{State: decide.ProposalState(w[0]), From: w[1], Commit: w[2], URL: "https://forge.example/" + w[2]})
	}
	for _, text := range e.Checks {
		parsed.Checks = append(parsed.Checks, checkResult(text))
	}
	for _, text := range e.Aborts { // "c4 anna no good", or "c4 10:05 anna no good"
		w := strings.SplitN(text, " ", 3)
		a := decide.Abort{Commit: w[0], By: w[1], Why: w[2]}
		if a.At = clock(w[1]); !a.At.IsZero() {
			a.By, a.Why, _ = strings.Cut(w[2], " ")
		}
		parsed.Aborts = append(parsed.Aborts, a)
	}
	if e.Pause != "" {
		by, why, _ := strings.Cut(e.Pause, " ")
		parsed.Pause = &decide.Pause{By: by, Why: why, At: clock("09:00")}
	}
	for _, text := range e.Rollbacks {
		w := strings.SplitN(text, " ", 4)
		parsed.Rollbacks = append(parsed.Rollbacks, decide.Rollback{Commit: w[0], At: clock(w[1]), By: w[2], Why: w[3]})
	}
	if e.Order != "" {
		w := strings.SplitN(e.Order, " ", 3)
		parsed.Request = &decide.Request{ID: "7", Commit: w[0], By: w[1], Why: w[2]}
	}
}

// parseChecks parses the commands for verifications, and their statuses.
func (e *environment) parseChecks(parsed *decide.Environment) {
	for _, text := range e.Bypasses { // smoke 10:05 anna it is known to fail
		w := strings.SplitN(text, " ", 4)
		parsed.Bypasses = append(parsed.Bypasses, decide.Bypass{Check: w[0], At: clock(w[1]), By: w[2], Why: w[3]})
	}
	for _, text := range e.Approvals { // release 10:05 anna group group
		w := strings.Fields(text)
		parsed.Approvals = append(parsed.Approvals, decide.Approval{Check: w[0], At: clock(w[1]), By: w[2], Groups: w[3:]})
	}
	for at, text := range e.CheckStatuses { // smoke c5: "pending Measuring"
		check, commit, _ := strings.Cut(at, " ")
		state, description, _ := strings.Cut(text, " ")
		if parsed.CheckStatuses == nil {
			parsed.CheckStatuses = map[decide.CheckCommit]decide.Status{}
		}
		parsed.CheckStatuses[decide.CheckCommit{Check: check, Commit: commit}] = decide.Status{State: decide.StatusState(state), Description: description}
	}
}

// checkResult parses "smoke g5 passed" and, with a time and a value, "smoke g5 failed 10:05 0.2 the reason".
func checkResult(text string) decide.CheckResult {
	w := strings.SplitN(text+" ", " ", 4)
	r := decide.CheckResult{Name: w[0], Revision: w[1], State: decide.CheckState(w[2]), Reason: strings.TrimSpace(w[3])}
	if first, rest, _ := strings.Cut(r.Reason, " "); !clock(first).IsZero() {
		r.At = clock(first)
		r.Value, r.Reason, _ = strings.Cut(rest, " ")
	}
	return r
}

// clock returns a time on the day of the test cases, a Friday; zero if text is empty.
func clock(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", "2026-11-20 "+text)
	if err != nil {
		return time.Time{}
	}
	return t
}

func format(decisions []decide.Decision) string {
	var b strings.Builder
	for _, d := range decisions {
		fmt.Fprintf(&b, "%s %s: %s\n", d.Environment, d.State, d.Reason)
		for _, a := range d.Actions {
			fmt.Fprintf(&b, "  %s\n", a)
		}
		if !d.Next.IsZero() {
			fmt.Fprintf(&b, "  look again at %s\n", d.Next.UTC().Format("2006-01-02 15:04"))
		}
	}
	return b.String()
}

// formatTargets writes the commits to go back to.
func formatTargets(decisions []decide.Decision) string {
	var b strings.Builder
	for _, d := range decisions {
		for _, to := range d.Targets {
			fmt.Fprintf(&b, "%s %s %s: %s\n", d.Environment, to.Commit, to.State, to.Why)
		}
	}
	return b.String()
}
