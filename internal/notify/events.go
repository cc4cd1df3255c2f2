package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// told are the kinds of steps that can be events.
var told = []string{string(decide.StepStarted), string(decide.StepDeployed), string(decide.StepFailed), string(promote.StateChanged)}

// past are the kinds of steps that events depend on.
var past = append([]string{string(decide.StepStarted), string(decide.StepDeployed), string(decide.StepFailed), string(promote.Published)}, commands...)

// commands are the kinds of users' commands that make a place go back.
var commands = []string{string(promote.RolledBack), string(promote.Aborted), string(promote.Requested)}

// Events returns what steps of one environment of one subject tell, in the order of the steps. history has all its steps of the kinds
// started, deployed, failed, published, rolledBack, aborted and requested, in any order; others are ignored. For a
// batch of a ring, it also has the commands for the ring and for the environment. It is a pure function; the same
// steps give the same events with the same IDs, whatever other steps are in the call.
func Events(steps, history []ledger.Step) []message.Event {
	h := newHistory(history)
	var events []message.Event
	for _, s := range steps {
		if !slices.Contains(told, s.Kind) || s.Commit == promote.EveryCommit {
			continue
		}
		events = append(events, h.events(s)...)
	}
	return events
}

// history holds steps, oldest first.
type history struct {
	steps []ledger.Step
	// commands are those of users that make an environment go back, oldest first.
	commands []ledger.Step
	// versions are those of published commits.
	versions map[string]string
}

func newHistory(all []ledger.Step) *history {
	h := &history{versions: map[string]string{}}
	for _, s := range all {
		switch decide.StepKind(s.Kind) {
		case decide.StepStarted, decide.StepDeployed, decide.StepFailed:
			h.steps = append(h.steps, s)
		case promote.RolledBack, promote.Aborted, promote.Requested:
			h.commands = append(h.commands, s)
		case promote.Published:
			if v := detailOf(s).Version; v != "" {
				h.versions[s.Commit] = v
			}
		}
	}
	slices.SortFunc(h.steps, compareSteps)
	slices.SortFunc(h.commands, compareSteps)
	return h
}

func compareSteps(a, b ledger.Step) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Commit, b.Commit))
}

// events returns what a step tells.
func (h *history) events(s ledger.Step) []message.Event {
	d, episode := detailOf(s), h.before(s)
	from := ""
	if s.Kind == string(decide.StepStarted) {
		from = h.wentBack(s)
	}
	_, stage := decide.SplitRing(s.Environment)
	if stage != "" {
		s.Environment, episode = fleet.RingOfStage(s.Environment), from // the batches of a ring tell the same
	}
	event := func(kind message.Kind, reason string, about ...string) message.Event {
		return h.event(s, d, kind, reason, about...)
	}
	switch decide.StepKind(s.Kind) {
	case decide.StepStarted:
		if from != "" {
			reason, by := h.whyBack(from, s)
			e := event(message.RolledBack, reason, episode)
			e.From, e.By = from, by
			return []message.Event{e}
		}
	case decide.StepDeployed:
		if stage == "" { // a ring is not the end: the environment is done when every ring is
			return []message.Event{event(message.Done, "", d.Revision, episode)}
		}
	case decide.StepFailed:
		if d.InRing {
			return nil // the ring tells it, more exactly
		}
		cause := cmp.Or(d.Failure, s.Reason)
		return []message.Event{event(message.Failed, cause, cause, episode)}
	case promote.StateChanged:
		var events []message.Event
		if d.Phase == decide.Failed && d.Failure != "" && !d.InRing {
			failed := s
			failed.Kind = string(decide.StepFailed) // the same event as that of the failed step, if it has the same cause
			if stage == "" {
				episode = h.before(failed)
			}
			events = append(events, h.event(failed, d, message.Failed, d.Failure, d.Failure, episode))
		}
		for _, ask := range d.Asks {
			about := []string{ask}
			if d.Phase == decide.Checking {
				about = append(about, d.Revision) // an approval is for one rollout; other requests stay while the environment changes
			}
			e := event(message.Waiting, ask, about...)
			if d.Candidate != "" && strings.Contains(ask, fleet.ShortCommit(d.Candidate)) {
				e.Commit = d.Candidate
			}
			e.Version = h.versions[e.Commit]
			events = append(events, e)
		}
		return events
	}
	return nil
}

// event returns an event. Its ID is a hash of the subject, environment, commit and kind, and of what it is about.
func (h *history) event(s ledger.Step, d promote.Detail, kind message.Kind, reason string, about ...string) message.Event {
	_, workload := ledger.SplitSubject(s.Subject)
	commit := s.Commit
	if kind == message.Waiting {
		commit = "" // the same request can be recorded for the commit that it replaces, and for itself
	}
	return message.Event{
		ID: eventID(append([]string{s.Subject, s.Environment, commit, string(kind)}, about...)...), Kind: kind, At: s.At.UTC(),
		Subject: s.Subject, Environment: s.Environment, Workload: workload, Workspace: d.Workspace,
		Commit: s.Commit, Version: cmp.Or(d.Version, h.versions[s.Commit]), Revision: d.Revision, Reason: reason,
	}
}

// eventID returns a hash of texts.
func eventID(about ...string) string {
	text, _ := json.Marshal(about) // strings can be encoded
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// before identifies the episode of a step: the time of the last step before it that has another kind or commit. So a step that two
// servers recorded has one episode, and the same failure after a repair has another.
func (h *history) before(s ledger.Step) string {
	for _, b := range slices.Backward(h.steps) {
		if b.At.Before(s.At) && (b.Kind != s.Kind || b.Commit != s.Commit) {
			return h.first(b).At.UTC().Format(time.RFC3339Nano)
		}
	}
	return ""
}

// first returns the first of the equal steps that follow each other and end with a step.
func (h *history) first(s ledger.Step) ledger.Step {
	for _, b := range slices.Backward(h.steps) {
		switch {
		case !b.At.Before(s.At):
		case b.Kind != s.Kind || b.Commit != s.Commit:
			return s
		default:
			s = b
		}
	}
	return s
}

// wentBack returns the commit that a started step replaces by an earlier one; empty if it does not go back. The commits form a
// stack: a rollback removes all commits above its target.
func (h *history) wentBack(started ledger.Step) (from string) {
	var stack []string
	for _, s := range h.steps {
		if s.Kind != string(decide.StepStarted) {
			continue
		}
		at := slices.Index(stack, s.Commit)
		from = ""
		if at >= 0 && at < len(stack)-1 {
			from = stack[len(stack)-1]
		}
		if s.Commit == started.Commit && s.At.Equal(started.At) {
			return from
		}
		if at >= 0 {
			stack = stack[:at]
		}
		stack = append(stack, s.Commit)
	}
	return ""
}

// whyBack returns why a place went back from a commit, and the user who wanted that; empty if it was not a user.
func (h *history) whyBack(from string, started ledger.Step) (reason, by string) {
	for _, c := range slices.Backward(h.commands) {
		if c.At.After(started.At) {
			continue
		}
		about, did := from, "taken back"
		switch decide.StepKind(c.Kind) {
		case promote.Aborted:
			did = "aborted"
		case promote.Requested:
			about, did = started.Commit, "requested"
		}
		// A rollback of the environment, whose commits are those of main, takes its rings with it.
		whole := c.Environment != started.Environment && c.Kind == string(promote.RolledBack)
		if c.Commit != about && !whole || c.At.Before(h.lastStarted(from, started.At)) {
			continue
		}
		reason = fmt.Sprintf("%s was %s by %s", fleet.ShortCommit(about), did, c.By)
		if c.Reason != "" {
			reason += ": " + c.Reason
		}
		return reason, c.By
	}
	return h.failure(from, started.At), ""
}

// lastStarted returns when a commit was last started before a time.
func (h *history) lastStarted(commit string, before time.Time) time.Time {
	for _, s := range slices.Backward(h.steps) {
		if s.Kind == string(decide.StepStarted) && s.Commit == commit && s.At.Before(before) {
			return s.At
		}
	}
	return time.Time{}
}

// failure returns why a commit failed before a time; empty if it did not.
func (h *history) failure(commit string, before time.Time) string {
	for _, s := range slices.Backward(h.steps) {
		if s.Commit == commit && s.At.Before(before) {
			switch decide.StepKind(s.Kind) {
			case decide.StepFailed:
				return fleet.ShortCommit(commit) + " failed: " + cmp.Or(detailOf(s).Failure, s.Reason)
			case decide.StepDeployed:
				return ""
			}
		}
	}
	return ""
}

// detailOf returns the data of a step; zero if another program wrote it.
func detailOf(s ledger.Step) promote.Detail {
	var d promote.Detail
	if len(s.Detail) > 0 && json.Unmarshal(s.Detail, &d) != nil {
		return promote.Detail{}
	}
	return d
}
