package api

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Command is a command about an environment.
type Command struct {
	// Why is the reason, which users see wherever the command is shown.
	Why string `json:"why,omitempty" maxLength:"500"`
}

// CommitCommand is a command about a commit in an environment.
type CommitCommand struct {
	// Commit is the full hash, or at least seven digits of a commit that was promoted before.
	Commit string `json:"commit" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$"`
	Command
}

// RollbackCommand rolls an environment back.
type RollbackCommand struct {
	// Commit is the commit to roll back to. Default: the last one that was deployed successfully before the current one.
	Commit string `json:"commit,omitempty" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$"`
	Command
}

// Accepted is a stored command. The next round carries it out.
type Accepted struct {
	ControlPlane string `json:"controlPlane"`
	// Application is the name of the application's workload; absent for a command about a control plane's environment.
	Application string `json:"application,omitempty"`
	Environment string `json:"environment"`
	// Commit is the full hash; absent for commands without a commit.
	Commit string `json:"commit,omitempty"`
	// Check is the verification that the command is about; absent for other commands.
	Check string `json:"check,omitempty"`
	// By is the user who gave the command, Why the reason.
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
}

type (
	commandInput struct {
		EnvironmentPath
		Body Command
	}
	commitInput struct {
		EnvironmentPath
		Body CommitCommand
	}
	checkInput struct {
		EnvironmentPath
		Body CheckCommand
	}
	rollbackInput struct {
		EnvironmentPath
		Body RollbackCommand
	}
)

func registerMoves(s *service) {
	environment := func(id, summary, about string) operation {
		return operation{id: id, path: "/environments/{name}/" + id, summary: summary, about: about, status: http.StatusAccepted}
	}
	tell(s, environment("promote", "Promote a commit next", "The rules of the environment apply: gates, windows, approval. It replaces an earlier request."),
		func(ctx context.Context, in *commitInput) (Accepted, error) {
			return s.command(ctx, "promote", in.EnvironmentPath, in.Body.Commit, in.Body.Why, s.Control.Order)
		})
	tell(s, environment("pause", "Pause promotions to an environment", "A rollout that has started continues."),
		func(ctx context.Context, in *commandInput) (Accepted, error) {
			return s.command(ctx, "pause", in.EnvironmentPath, "", in.Body.Why, s.Control.Pause)
		})
	tell(s, environment("resume", "Resume promotions to an environment", ""),
		func(ctx context.Context, in *commandInput) (Accepted, error) {
			return s.command(ctx, "resume", in.EnvironmentPath, "", in.Body.Why, s.Control.Resume)
		})
	tell(s, environment("abort", "Abort the promotion of a commit",
		"It is not promoted to or beyond this environment. To undo this, promote the commit again."),
		func(ctx context.Context, in *commitInput) (Accepted, error) {
			return s.command(ctx, "abort", in.EnvironmentPath, in.Body.Commit, in.Body.Why, s.Control.Abort)
		})
	tell(s, environment("approve", "Approve a commit, for a verification that waits for it",
		"The verification says who may: groups of the sign-on, and whether the author of the commit may. It is recorded who approved."),
		func(ctx context.Context, in *checkInput) (Accepted, error) {
			return s.checkCommand(ctx, "approve", in.EnvironmentPath, in.Body, s.Control.Approve)
		})
	tell(s, environment("bypass", "Do without a verification of a commit",
		"The reason is required. It is shown for ever, with who gave it: on the commit's statuses, and in the history."),
		func(ctx context.Context, in *checkInput) (Accepted, error) {
			return s.checkCommand(ctx, bypass, in.EnvironmentPath, in.Body, s.Control.Bypass)
		})
	tell(s, environment("rollback", "Roll back to a commit that was deployed before", "It is promoted like any other commit."),
		func(ctx context.Context, in *rollbackInput) (Accepted, error) {
			return s.command(ctx, rollback, in.EnvironmentPath, in.Body.Commit, in.Body.Why, s.Control.Order)
		})
}

// rollback is the operation whose default commit is the last successful one.
const rollback = "rollback"

// command records a command in the audit trail, and passes it on.
func (s *service) command(
	ctx context.Context, action string, at EnvironmentPath, commit, why string, give func(context.Context, promote.Command) error,
) (Accepted, error) {
	standing, err := s.Observer.Standing(at.Name, at.ControlPlane)
	if err != nil {
		return Accepted{}, err
	}
	if commit, err = s.fullHash(ctx, standing, action, commit); err != nil {
		return Accepted{}, err
	}
	w := promote.Command{
		Subject: standing.ControlPlane, Environment: standing.Environment, Commit: commit, By: access.From(ctx).Name, Why: safe(why),
	}
	return s.give(ctx, action, w, give)
}

// give records a command in the audit trail, passes it on, and wakes who carries it out.
func (s *service) give(ctx context.Context, action string, w promote.Command, give func(context.Context, promote.Command) error) (Accepted, error) {
	about := detail("controlPlane", w.Subject, "commit", w.Commit, "check", w.Check, "why", w.Why)
	if err := s.audit(ctx, action, w.Environment, about); err != nil {
		return Accepted{}, err
	}
	if err := give(ctx, w); err != nil {
		return Accepted{}, err
	}
	if s.OnCommand != nil {
		s.OnCommand(w.Subject, w.Environment)
	}
	s.Events.Publish(Signal{Type: SignalEnvironment, ControlPlane: w.Subject, Environment: w.Environment, Commit: w.Commit})
	return Accepted{ControlPlane: w.Subject, Environment: w.Environment, Commit: w.Commit, Check: w.Check, By: w.By, Why: w.Why}, nil
}

var wholeHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// fullHash returns the full hash of a commit. A rollback without a commit returns to the last successful one.
func (s *service) fullHash(ctx context.Context, standing query.Standing, action, commit string) (string, error) {
	if commit == "" && action == rollback {
		good, err := s.Observer.GoodCommits(ctx, standing.ControlPlane, standing.Environment)
		if err == nil && len(good) == 0 {
			err = newProblem(http.StatusConflict, "no earlier successful commit of "+strconv.Quote(standing.Environment)+" is recorded", "specify the commit to roll back to")
		}
		if err != nil {
			return "", err
		}
		return good[0], nil
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
