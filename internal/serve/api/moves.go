package api

import (
	"context"
	"net/http"
	"regexp"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Word is what somebody says about an environment.
type Word struct {
	// Why is the reason. It is shown wherever what was asked for is shown.
	Why string `json:"why,omitempty" maxLength:"500"`
}

// CommitWord is what somebody says about a commit in an environment.
type CommitWord struct {
	// Commit is the full hash, or at least seven digits of one that was promoted somewhere already.
	Commit string `json:"commit" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$"`
	Word
}

// RollbackWord says to which commit to go back.
type RollbackWord struct {
	// Commit is where to go back to. Empty means the last one that ran well in the environment before the present one.
	Commit string `json:"commit,omitempty" minLength:"7" maxLength:"64" pattern:"^[0-9a-f]+$"`
	Word
}

// Accepted says what is on record and heeded by the next round.
type Accepted struct {
	ControlPlane string `json:"controlPlane"`
	Environment  string `json:"environment"`
	// Commit is the full hash, where it is about one.
	Commit string `json:"commit,omitempty"`
	// By is who said it, and Why is the reason.
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
}

// Inputs of words about an environment.
type (
	wordInput struct {
		EnvironmentPath
		Body Word
	}
	commitInput struct {
		EnvironmentPath
		Body CommitWord
	}
	rollbackInput struct {
		EnvironmentPath
		Body RollbackWord
	}
)

func registerMoves(s *service) {
	environment := func(id, summary, about string) operation {
		return operation{id: id, path: "/environments/{name}/" + id, summary: summary, about: about, status: http.StatusAccepted}
	}
	tell(s, environment("promote", "Make a commit the next to enter",
		"All rules of the environment hold for it as well: gates, windows, approval. It replaces an earlier order."),
		func(ctx context.Context, in *commitInput) (Accepted, error) {
			return s.say(ctx, "promote", in.EnvironmentPath, in.Body.Commit, in.Body.Why, s.Control.Order)
		})
	tell(s, environment("pause", "Let nothing enter until it is resumed", "What is rolled out there already goes on."),
		func(ctx context.Context, in *wordInput) (Accepted, error) {
			return s.say(ctx, "pause", in.EnvironmentPath, "", in.Body.Why, s.Control.Pause)
		})
	tell(s, environment("resume", "End a pause", ""), func(ctx context.Context, in *wordInput) (Accepted, error) {
		return s.say(ctx, "resume", in.EnvironmentPath, "", in.Body.Why, s.Control.Resume)
	})
	tell(s, environment("abort", "Give a commit up", "It does not enter, nor go on from there. An order for it lifts that."),
		func(ctx context.Context, in *commitInput) (Accepted, error) {
			return s.say(ctx, "abort", in.EnvironmentPath, in.Body.Commit, in.Body.Why, s.Control.Abort)
		})
	tell(s, environment("rollback", "Go back to a commit that ran well", "It is ordered like any other commit."), s.rollback)
}

func (s *service) rollback(ctx context.Context, in *rollbackInput) (Accepted, error) {
	if in.Body.Commit == "" {
		standing, err := s.standing(in.EnvironmentPath)
		if err != nil {
			return Accepted{}, err
		}
		if in.Body.Commit, err = s.lastGood(ctx, standing); err != nil {
			return Accepted{}, err
		}
	}
	return s.say(ctx, "rollback", in.EnvironmentPath, in.Body.Commit, in.Body.Why, s.Control.Order)
}

// say passes on what a person says about an environment, and puts it on the audit trail before.
func (s *service) say(
	ctx context.Context, action string, at EnvironmentPath, commit, why string, tell func(context.Context, promote.Word) error,
) (Accepted, error) {
	standing, err := s.standing(at)
	if err != nil {
		return Accepted{}, err
	}
	if commit, err = s.fullHash(ctx, standing, commit); err != nil {
		return Accepted{}, err
	}
	w := promote.Word{
		Subject: standing.ControlPlane, Environment: standing.Environment, Commit: commit, By: access.From(ctx).Name, Why: safe(why),
	}
	if err := s.audit(ctx, action, w.Environment, detail("controlPlane", w.Subject, "commit", w.Commit, "why", w.Why)); err != nil {
		return Accepted{}, err
	}
	if err := tell(ctx, w); err != nil {
		return Accepted{}, err
	}
	if s.Spoken != nil {
		s.Spoken(w.Subject, w.Environment)
	}
	s.Events.Publish(Signal{Type: SignalEnvironment, ControlPlane: w.Subject, Environment: w.Environment, Commit: w.Commit})
	return Accepted{ControlPlane: w.Subject, Environment: w.Environment, Commit: w.Commit, By: w.By, Why: w.Why}, nil
}

var wholeHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// fullHash completes the beginning of the hash of a commit that was promoted already.
func (s *service) fullHash(ctx context.Context, standing query.Standing, commit string) (string, error) {
	if commit == "" || wholeHash.MatchString(commit) {
		return commit, nil
	}
	p, err := s.Observer.Promotion(ctx, query.PromotionQuery{Commit: commit, Subject: standing.ControlPlane})
	return p.Commit, err
}

// maxSteps bounds how far back a commit to go back to is looked for.
const maxSteps = 5000

// lastGood is the commit to go back to.
func (s *service) lastGood(ctx context.Context, standing query.Standing) (string, error) {
	subject := ledger.CleanRepository(standing.ControlPlane) // in the spelling in which promotions are recorded
	steps, err := s.Ledger.Steps(ctx, ledger.StepQuery{Subject: subject, Environment: standing.Environment, Limit: maxSteps})
	if err != nil {
		return "", err
	}
	if commit, ok := promote.LastGood(steps); ok {
		return commit, nil
	}
	return "", newProblem(http.StatusConflict, "no earlier commit is on record that ran well in "+quote(standing.Environment), "name the commit to go back to")
}

// detail lists what is not empty, for the audit trail: pairs of a name and a value.
func detail(pairs ...string) string {
	text := ""
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			text += " " + pairs[i] + "=" + quote(pairs[i+1])
		}
	}
	if text == "" {
		return ""
	}
	return text[1:]
}

func quote(text string) string { return strconv.Quote(text) }
