package api

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Command is a command about an environment.
type Command struct {
	// Why is the reason, which users see wherever the command is shown.
	Why string `json:"why,omitempty" maxLength:"500"`
	// DryRun means that the answer says what the command would do, and that nothing is done.
	DryRun bool `json:"dryRun,omitempty"`
}

// CommitCommand is a command about a commit in an environment.
type CommitCommand struct {
	// Commit is the full hash, or at least seven digits of a commit that was promoted before.
	Commit string `json:"commit" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$"`
	Command
}

// SkipCommand lets a commit pass a ring.
type SkipCommand struct {
	// Commit is a commit of the GitOps branch, or the promoted commit whose manifests it has: the full hash, or at least seven digits.
	Commit string `json:"commit" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$"`
	// Why is the reason, which users see wherever the command is shown.
	Why string `json:"why" minLength:"1" maxLength:"500"`
	// DryRun means that the answer says what the command would do, and that nothing is done.
	DryRun bool `json:"dryRun,omitempty"`
}

// RollbackCommand rolls an environment back.
type RollbackCommand struct {
	// Commit is the commit to roll back to. Default: the newest one that ran well for long enough and was not taken back.
	Commit string `json:"commit,omitempty" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$"`
	// Fast means that the soaks of rings do not delay it, however long ago that commit ran well.
	Fast bool `json:"fast,omitempty"`
	// Now means that it does not wait for the windows and holds of single clusters either. It needs the role admin,
	// or BreakGlass.
	Now bool `json:"now,omitempty"`
	// BreakGlass allows Now in an emergency, for the role break-glass. It needs a reason, and has an audit entry of
	// its own.
	BreakGlass bool `json:"breakGlass,omitempty"`
	// All means that all rings of the environment go back, and not only the one that is named.
	All bool `json:"all,omitempty"`
	Command
}

// Accepted is a stored command. The next round carries it out.
type Accepted struct {
	ControlPlane string `json:"controlPlane"`
	// Application is the name of the application's workload; absent for a command about a control plane's environment.
	Application string `json:"application,omitempty"`
	Environment string `json:"environment"`
	// Ring is the ring of the environment, or a batch of one; absent for a command about the environment.
	Ring string `json:"ring,omitempty"`
	// Commit is the full hash; absent for commands without a commit.
	Commit string `json:"commit,omitempty"`
	// Check is the verification that the command is about; absent for other commands.
	Check string `json:"check,omitempty"`
	// By is the user who gave the command, Why the reason.
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
	// Rehearsal is what the command would do; only of a dry run, which stores nothing.
	Rehearsal *Rehearsal `json:"rehearsal,omitempty"`
}

type (
	commandInput struct {
		RingPath
		Body Command
	}
	commitInput struct {
		RingPath
		Body CommitCommand
	}
	checkInput struct {
		RingPath
		Body CheckCommand
	}
	rollbackInput struct {
		RingPath
		Body RollbackCommand
	}
	skipInput struct {
		EnvironmentPath
		Ring string `query:"ring" required:"true" maxLength:"253" doc:"The ring that the commit passes, or a batch of it."`
		Body SkipCommand
	}
)

func registerMoves(s *service) {
	environment := func(id, summary, about string) operation {
		return operation{id: id, path: "/environments/{name}/" + id, summary: summary, about: about, status: http.StatusAccepted}
	}
	tell(s, environment("promote", "Promote a commit next", "The rules of the environment apply: gates, windows, approval. It replaces an earlier request."),
		func(ctx context.Context, in *commitInput) (Accepted, error) {
			return s.command(ctx, "promote", in.RingPath, in.Body.Commit, in.Body.Why, in.Body.DryRun, Control.Order)
		})
	tell(s, environment("pause", "Pause promotions to an environment", "A rollout that has started continues."),
		func(ctx context.Context, in *commandInput) (Accepted, error) {
			return s.command(ctx, "pause", in.RingPath, "", in.Body.Why, in.Body.DryRun, Control.Pause)
		})
	tell(s, environment("resume", "Resume promotions to an environment", ""),
		func(ctx context.Context, in *commandInput) (Accepted, error) {
			return s.command(ctx, "resume", in.RingPath, "", in.Body.Why, in.Body.DryRun, Control.Resume)
		})
	tell(s, environment("abort", "Abort the promotion of a commit",
		"It is not promoted to or beyond this environment. To undo this, promote the commit again."),
		func(ctx context.Context, in *commitInput) (Accepted, error) {
			return s.command(ctx, "abort", in.RingPath, in.Body.Commit, in.Body.Why, in.Body.DryRun, Control.Abort)
		})
	tell(s, environment("approve", "Approve a commit, for a verification that waits for it",
		"The verification says who may: groups of the sign-on, and whether the author of the commit may. It is recorded who approved."),
		func(ctx context.Context, in *checkInput) (Accepted, error) {
			return s.checkCommand(ctx, "approve", in.RingPath, in.Body, Control.Approve)
		})
	tell(s, environment("bypass", "Do without a verification of a commit",
		"The reason is required. It is shown for ever, with who gave it: on the commit's statuses, and in the history."),
		func(ctx context.Context, in *checkInput) (Accepted, error) {
			return s.checkCommand(ctx, bypass, in.RingPath, in.Body, Control.Bypass)
		})
	tell(s, environment("rollback", "Take back the commit of an environment or ring",
		"It returns to an earlier commit. Neither the present one nor those that were merged on top of it are promoted to it or later, until one is requested or a newer one is merged. Pauses, windows and freezes do not delay it."),
		func(ctx context.Context, in *rollbackInput) (Accepted, error) {
			return s.rollBack(ctx, in.RingPath, in.Body)
		})
	tell(s, environment("skip", "Let a commit pass a ring", "Later rings do not wait until it has run there. To undo this, promote the commit to the ring again."),
		func(ctx context.Context, in *skipInput) (Accepted, error) {
			return s.command(ctx, "skip", RingPath{in.EnvironmentPath, in.Ring}, in.Body.Commit, in.Body.Why, in.Body.DryRun, Control.Skip)
		})
}

// rollBack takes back the present commit of an environment or ring.
func (s *service) rollBack(ctx context.Context, at RingPath, in RollbackCommand) (Accepted, error) {
	standing, name, to, err := s.subject(ctx, rollback, at, in.Commit)
	if err != nil {
		return Accepted{}, err
	}
	w := promote.Command{Subject: standing.ControlPlane, Environment: name, By: access.From(ctx).Name, Why: safe(in.Why), Fast: in.Fast, Now: in.Now, All: in.All}
	if standing.Promotion != nil {
		w.Commit = standing.Promotion.Commit
	}
	if at.Ring != "" {
		_, batches, err := s.Observer.Ring(at.Name, at.ControlPlane, at.Ring)
		if err != nil {
			return Accepted{}, err
		}
		w.Commit = batches[0].Commit
	}
	if in.Commit != "" {
		w.To = to
	}
	if in.Now { // clusters change outside of their windows, and in spite of their holds
		if err := s.override(ctx, &w, access.Place{}, in.BreakGlass, in.DryRun, "rollback --now"); err != nil {
			return Accepted{}, err
		}
	}
	accepted, err := s.give(ctx, rollback, w, in.DryRun, Control.RollBack)
	accepted.Commit = to
	return accepted, err
}

// RingPath identifies an environment, or a ring of it.
type RingPath struct {
	EnvironmentPath
	Ring string `query:"ring" maxLength:"253" doc:"The command is for this ring of the environment, or for a batch of it. Its commits are those of the GitOps branch; a promoted commit means the newest one with its manifests."`
}

// rollback is the operation whose default commit is the last successful one.
const rollback = "rollback"

// command records a command in the audit trail, and passes it on.
func (s *service) command(
	ctx context.Context, action string, at RingPath, commit, why string, dryRun bool, give giving,
) (Accepted, error) {
	standing, name, commit, err := s.subject(ctx, action, at, commit)
	if err != nil {
		return Accepted{}, err
	}
	w := promote.Command{
		Subject: standing.ControlPlane, Environment: name, Commit: commit, By: access.From(ctx).Name, Why: safe(why),
	}
	return s.give(ctx, action, w, dryRun, give)
}

// giving passes a command on.
type giving func(c Control, ctx context.Context, w promote.Command) error

// give records a command in the audit trail, passes it on, and wakes who carries it out. A dry run does nothing of
// this.
func (s *service) give(ctx context.Context, action string, w promote.Command, dryRun bool, give giving) (Accepted, error) {
	if dryRun {
		return s.rehearse(ctx, w, give)
	}
	about := detail("controlPlane", w.Subject, "commit", w.Commit, "to", w.To, "check", w.Check, "why", w.Why)
	if err := s.audit(ctx, action, w.Environment, about); err != nil {
		return Accepted{}, err
	}
	if err := give(s.Control, ctx, w); err != nil {
		return Accepted{}, err
	}
	environment, ring := decide.SplitRing(w.Environment)
	if s.OnCommand != nil {
		s.OnCommand(w.Subject, environment)
	}
	s.Events.Publish(Signal{Type: SignalEnvironment, ControlPlane: w.Subject, Environment: environment, Commit: w.Commit})
	return Accepted{ControlPlane: w.Subject, Environment: environment, Ring: ring, Commit: w.Commit, Check: w.Check, By: w.By, Why: w.Why}, nil
}

// subject returns the environment of a command, the name of what the command is about, and the full hash of its commit.
func (s *service) subject(ctx context.Context, action string, at RingPath, commit string) (query.Standing, string, string, error) {
	if at.Ring == "" {
		standing, err := s.Observer.Standing(at.Name, at.ControlPlane)
		if err != nil {
			return standing, "", "", err
		}
		commit, err = s.fullHash(ctx, standing, action, commit)
		return standing, standing.Environment, commit, err
	}
	standing, batches, err := s.Observer.Ring(at.Name, at.ControlPlane, at.Ring)
	if err != nil {
		return standing, "", "", err
	}
	switch {
	case commit == "" && action == rollback:
		commit, err = firstGood(s.Observer.GoodRingCommits(batches), at.Name+"/"+at.Ring)
	case commit != "":
		commit, err = s.Observer.RingCommit(ctx, standing, commit)
	}
	return standing, decide.RingName(standing.Environment, at.Ring), commit, err
}

// firstGood returns the commit to roll back to.
func firstGood(good []string, name string) (string, error) {
	if len(good) == 0 {
		return "", newProblem(http.StatusConflict, "no earlier successful commit of "+strconv.Quote(name)+" is recorded", "specify the commit to roll back to")
	}
	return good[0], nil
}

var wholeHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// fullHash returns the full hash of a commit. A rollback without a commit returns to the last successful one.
func (s *service) fullHash(ctx context.Context, standing query.Standing, action, commit string) (string, error) {
	if commit == "" && action == rollback {
		good, err := s.Observer.GoodCommits(ctx, standing.ControlPlane, standing.Environment)
		if err != nil {
			return "", err
		}
		return firstGood(good, standing.Environment)
	}
	if commit == "" || wholeHash.MatchString(commit) {
		return commit, nil
	}
	p, err := s.Observer.Promotion(ctx, query.PromotionQuery{Commit: commit, Subject: standing.ControlPlane})
	return p.Commit, err
}

// detail formats pairs of name and value for the audit trail. Empty values are left out.
func detail(pairs ...string) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			parts = append(parts, pairs[i]+"="+strconv.Quote(pairs[i+1]))
		}
	}
	return strings.Join(parts, " ")
}
