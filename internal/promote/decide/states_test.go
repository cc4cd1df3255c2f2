package decide_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// documentedState is a row of the table of states in the reference.
type documentedState struct {
	state    decide.State
	commands []string
}

var (
	rowOfState = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|[^|]*\\|[^|]*\\| ([^|]*) \\|$")
	stateCase  = regexp.MustCompile(`(?m)^\S+ (?:\S+ )?(\w+): `)
)

// documentedStates returns the table of states in the reference.
func documentedStates(t *testing.T) (all []documentedState) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/promotion.md")
	if err != nil {
		t.Fatal(err)
	}
	_, states, _ := strings.Cut(string(text), "\n## States\n")
	states, _, _ = strings.Cut(states, "\n## ")
	for _, row := range rowOfState.FindAllStringSubmatch(states, -1) {
		all = append(all, documentedState{decide.State(row[1]), strings.Split(row[2], ", ")})
	}
	return all
}

// TestStatesAreDocumented checks that the reference has each state, in the same order.
func TestStatesAreDocumented(t *testing.T) {
	var got []decide.State
	for _, s := range documentedStates(t) {
		got = append(got, s.state)
	}
	if !slices.Equal(got, decide.States()) {
		t.Errorf("the reference has %v, want %v", got, decide.States())
	}
}

// TestEachStateHasACase checks that a case of testdata leads to each state.
func TestEachStateHasACase(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	found := map[decide.State]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, golden, _ := strings.Cut(string(text), "-- golden --\n")
		for _, line := range stateCase.FindAllStringSubmatch(golden, -1) {
			found[decide.State(line[1])] = true
		}
	}
	for _, s := range decide.States() {
		if !found[s] {
			t.Errorf("no case leads to %s", s)
		}
	}
}

// stateFacts has facts that lead to each state of dev, at 10:10. c4 was good there until c5 came, and c3 before.
var stateFacts = map[decide.State]string{
	decide.Outside:    `{name: dev, promotion: {}}`,
	decide.Proposed:   `{name: dev, promotion: {}, commit: c5, rollout: open, history: [deployed c3 g3 07:00, deployed c4 g4 08:00]}`,
	decide.Rejected:   `{name: dev, promotion: {}, commit: c5, rollout: closed, history: [deployed c3 g3 07:00, deployed c4 g4 08:00]}`,
	decide.Applying:   `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: waiting, counted: 2}, history: [deployed c3 g3 07:00, deployed c4 g4 08:00, started c5 10:00]}`,
	decide.Checking:   `{name: dev, promotion: {verify: [{name: smoke, http: {url: "https://x"}}]}, commit: c5, rollout: merged g5, verdict: {result: passed}, history: [deployed c4 g4 08:00, ran c5 g5 10:00]}`,
	decide.Awaiting:   `{name: dev, promotion: {verify: [{name: smoke, approval: {}}]}, commit: c5, rollout: merged g5, verdict: {result: passed}, history: [deployed c4 g4 08:00, ran c5 g5 10:00]}`,
	decide.Soaking:    `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: passed}, history: [deployed c4 g4 08:00, deployed c5 g5 10:00]}`,
	decide.Good:       `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: passed}, history: [deployed c4 g4 07:00, deployed c5 g5 08:30]}`,
	decide.Unproven:   `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: waiting, offline: 2, counted: 2, required: 2}, history: [deployed c4 g4 07:00, deployed c5 g5 08:30, silent c5 g5 10:00]}`,
	decide.Drifted:    `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: waiting, counted: 2, required: 2}, history: [deployed c4 g4 07:00, deployed c5 g5 08:30, drifted c5 g5 10:00]}`,
	decide.Failed:     `{name: dev, promotion: {verify: [{name: smoke, http: {url: "https://x"}}]}, commit: c5, rollout: merged g5, verdict: {result: passed}, checks: [smoke g5 failed 10:05], history: [deployed c4 g4 08:00, ran c5 g5 10:00]}`,
	decide.Superseded: `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: passed}, history: [deployed c3 g3 08:00, started c4 09:00, silent c4 g4 09:30, deployed c5 g5 10:00]}`,
	decide.TakenBack:  `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: passed}, aborts: [c5 ben it is slow], history: [deployed c4 g4 08:00, deployed c5 g5 10:00]}`,
	decide.GoingBack:  `{name: dev, promotion: {}, commit: c4, rollout: merged g6, verdict: {result: waiting, counted: 2}, rollbacks: [c5 09:55 ben it is slow], history: [deployed c3 g3 06:00, deployed c4 g4 08:00, deployed c5 g5 09:40, started c4 10:00]}`,
	decide.NoClusters: `{name: dev, promotion: {}, commit: c5, rollout: merged g5, verdict: {result: noClusters}, history: [deployed c4 g4 08:00, started c5 10:00]}`,
}

// stateCommands are what users can do to leave a state. The documentation of each is in docs/cli.
var stateCommands = map[string]struct {
	page string
	give func(e *decide.Environment, commit string)
}{
	"promote": {"promote", func(e *decide.Environment, commit string) {
		e.Request = &decide.Request{ID: "7", Commit: commit, By: "anna", At: clock("10:08")}
		e.Requested = map[string]time.Time{commit: clock("10:08")}
		e.Aborts = nil // a request for the commit takes them back
	}},
	"abort": {"promote_abort", func(e *decide.Environment, _ string) {
		e.Aborts = append(e.Aborts, decide.Abort{Commit: e.Commit, By: "anna", At: clock("10:08")})
	}},
	"rollback": {"promote_rollback", func(e *decide.Environment, _ string) {
		e.Rollbacks = append(e.Rollbacks, decide.Rollback{Commit: e.Commit, By: "anna", At: clock("10:08")})
	}},
	"bypass": {"promote_bypass", func(e *decide.Environment, _ string) {
		e.Bypasses = append(e.Bypasses, decide.Bypass{Check: "smoke", By: "anna", At: clock("10:08")})
	}},
	"approve": {"promote_approve", func(e *decide.Environment, _ string) {
		e.Approvals = append(e.Approvals, decide.Approval{Check: "smoke", By: "anna", At: clock("10:08")})
	}},
	"skip": {"promote_skip", func(e *decide.Environment, _ string) {
		e.Skips = append(e.Skips, decide.Skip{Commit: "c5", By: "anna", At: clock("10:08")})
	}},
	"register a cluster": {"cluster_register", func(e *decide.Environment, _ string) {
		e.Verdict.Result, e.Verdict.Counts.Counted = comply.Waiting, 1
	}},
	"deploy a target": {"target_deploy", func(e *decide.Environment, _ string) { // that was pinned
		e.Verdict.Result, e.Verdict.Counts.Counted = comply.Waiting, 1
	}},
	"`allowNone`": {"validate", nil}, // a rule
}

// TestEachStateHasACommand checks that each command that the reference names for a state leaves it.
func TestEachStateHasACommand(t *testing.T) {
	for _, row := range documentedStates(t) {
		if row.commands[0] == "" {
			t.Errorf("no command leaves %s", row.state)
		}
		for _, name := range row.commands {
			t.Run(string(row.state)+" "+name, func(t *testing.T) {
				command, known := stateCommands[name]
				if _, err := os.Stat("../../../docs/cli/kalypso_" + command.page + ".md"); !known || err != nil {
					t.Fatalf("the command does not exist: %v", err)
				}
				leaves(t, row.state, name)
			})
		}
	}
}

// leaves checks that a command leaves a state of dev.
func leaves(t *testing.T, state decide.State, name string) {
	t.Helper()
	parse := func(dev string) decide.Facts {
		text := "now: \"10:10\"\nline: [c3, c4, c5]\nenvironments:\n- " + dev +
			"\n- {name: stage, promotion: {after: [dev], soak: 1h}, commit: c3, rollout: merged s3, verdict: {result: passed}, history: [deployed c3 s3 06:00]}\n"
		var f facts
		if err := yaml.UnmarshalStrict([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		return f.parse(&strings.Builder{})
	}
	before := parse(stateFacts[state])
	commit := map[decide.State]string{decide.TakenBack: "c5", decide.Rejected: "c3"}[state]
	if commit == "" {
		commit = "c4"
	}
	if got := stateIn(decide.Decide(before, clock("10:10")), commit); got != state {
		t.Fatalf("dev is %s", got)
	}
	rules := "promotion: {"
	if name == "`allowNone`" {
		rules += "gate: {allowNone: true}, "
	}
	after := parse(strings.Replace(stateFacts[state], "promotion: {", rules, 1))
	if give := stateCommands[name].give; give != nil {
		give(&after.Environments[0], commit)
	}
	decisions := decide.Decide(after, clock("10:10"))
	moves := slices.ContainsFunc(allActions(decisions), func(a decide.Action) bool {
		switch a := a.(type) {
		case decide.Promote:
			return a.Environment == "dev" || name == "skip"
		case decide.ProposeRollback:
			return a.Environment == "dev"
		}
		return false
	})
	if decisions[0].State == state && !moves {
		t.Errorf("dev remains %s: %s", decisions[0].State, decisions[0].Reason)
	}
}

// stateIn returns the state of dev, or of an earlier commit if that was superseded.
func stateIn(decisions []decide.Decision, commit string) decide.State {
	for _, to := range decisions[0].Targets {
		if to.Commit == commit && to.State == decide.Superseded {
			return to.State
		}
	}
	return decisions[0].State
}
