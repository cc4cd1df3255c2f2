package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// CheckCommand is a command about a verification of a commit in an environment.
type CheckCommand struct {
	// Check is the name of the verification.
	Check string `json:"check" minLength:"1" maxLength:"100"`
	// BreakGlass overrides the rules in an emergency, for the role break-glass. It needs a reason, and has an audit
	// entry of its own.
	BreakGlass bool `json:"breakGlass,omitempty"`
	CommitCommand
}

// bypass is the operation that needs a reason.
const bypass = "bypass"

// verified is the state of an environment that a command about a verification refers to.
type verified struct {
	environment, commit string
	rules               *v1alpha1.Promotion
	checks              []decide.CheckProgress
	authors             []string
}

// checkCommand passes on a command about a verification of a control plane's environment, or of a ring of it.
func (s *service) checkCommand(
	ctx context.Context, action string, at RingPath, in CheckCommand, give giving,
) (Accepted, error) {
	standing, name, commit, err := s.subject(ctx, action, at, in.Commit)
	if err != nil {
		return Accepted{}, err
	}
	now := verified{environment: name}
	switch p := standing.Promotion; {
	case at.Ring != "":
		if now, err = s.verifiedRing(at, name, commit); err != nil {
			return Accepted{}, err
		}
	case p != nil:
		now.commit, now.rules, now.checks, now.authors = p.Commit, p.Rules, p.Checks, p.Authors
	}
	w, err := now.command(access.From(ctx), action, commit, in)
	if err != nil {
		return Accepted{}, err
	}
	if action == bypass {
		if err := s.override(ctx, &w, access.Place{}, in.BreakGlass, in.DryRun, action); err != nil {
			return Accepted{}, err
		}
	}
	w.Subject = standing.ControlPlane
	return s.give(ctx, action, w, in.DryRun, give)
}

// verifiedRing returns the state of a ring: of the first of its batches that has a commit, where not all have.
func (s *service) verifiedRing(at RingPath, name, commit string) (verified, error) {
	standing, batches, err := s.Observer.Ring(at.Name, at.ControlPlane, at.Ring)
	if err != nil {
		return verified{}, err
	}
	i := max(slices.IndexFunc(batches, func(b promote.RingStanding) bool { return b.Commit == commit }), 0)
	now := verified{environment: name, commit: batches[i].Commit, checks: batches[i].Checks, authors: batches[i].Authors}
	if p := standing.Promotion.Rules; p != nil {
		for _, r := range p.Rings {
			if r.Name == batches[i].Ring {
				now.rules = &v1alpha1.Promotion{Verify: r.Verify}
			}
		}
	}
	return now, nil
}

// applicationCheck passes on a command about a verification of an application's environment.
func (s *service) applicationCheck(
	ctx context.Context, action string, at ApplicationPath, in CheckCommand, give giving,
) (Accepted, error) {
	ctx, a, err := s.changing(ctx, action, at)
	if err != nil {
		return Accepted{}, err
	}
	commit, err := s.commitOf(ctx, &a.Application, at.Environment, action, in.Commit)
	if err != nil {
		return Accepted{}, err
	}
	i := slices.IndexFunc(a.Environments, func(e query.ApplicationEnvironment) bool { return e.Environment == at.Environment })
	now := verified{environment: at.Environment}
	if d := a.Environments[i].Detail; d != nil {
		now.rules, now.checks = d.Rules, d.Checks
	}
	if b := a.Environments[i].Build; b != nil {
		now.commit = b.Commit
	}
	if i := slices.IndexFunc(a.Line, func(c promote.Commit) bool { return c.SHA == commit }); i >= 0 {
		now.authors = a.Line[i].Authors
	}
	w, err := now.command(access.From(ctx), action, commit, in)
	if err != nil {
		return Accepted{}, err
	}
	if action == bypass {
		place := access.Place{ControlPlane: a.ControlPlane, Workspace: a.Workspace, Environment: at.Environment}
		if err := s.override(ctx, &w, place, in.BreakGlass, in.DryRun, action); err != nil {
			return Accepted{}, err
		}
	}
	w.Subject = a.Subject
	return s.giveApplication(ctx, action, &a.Application, w, in.DryRun, give)
}

// command returns the command, or why the user cannot give it: about a commit that the environment does not have, a verification
// that has passed, or an approval that is for others.
func (v *verified) command(who access.Identity, action, commit string, in CheckCommand) (promote.Command, error) {
	check, ok := decide.FindCheck(v.rules, in.Check)
	w := promote.Command{Environment: v.environment, Commit: commit, Check: in.Check, By: who.Name, Why: safe(in.Why)}
	passed := func(g decide.CheckProgress) bool { return g.Name == in.Check && g.State == decide.CheckPassed }
	switch {
	case !ok:
		return w, query.Unknown("verification", in.Check, v.names())
	case action == bypass && strings.TrimSpace(in.Why) == "":
		return w, fmt.Errorf("%w: say why the verification is bypassed", ledger.ErrInvalid)
	case v.commit != commit:
		return w, newProblem(http.StatusConflict, fmt.Sprintf("%q has the commit %s, and not %s", v.environment, fleet.ShortCommit(v.commit), fleet.ShortCommit(commit)),
			"verifications are of the commit that the environment has")
	case slices.ContainsFunc(v.checks, passed):
		return w, newProblem(http.StatusConflict, fmt.Sprintf("%q has passed already", in.Check), "")
	case action == bypass:
		return w, nil
	case check.Approval == nil:
		return w, newProblem(http.StatusConflict, fmt.Sprintf("%q does not wait for approval: it is of kind %s", in.Check, check.Kind()), "an admin can bypass it")
	}
	if why := check.Refuses(w.By, who.Groups, v.authors); why != "" {
		return w, &access.Refusal{Kind: access.ErrForbidden, What: why, Next: "ask another user to approve it"}
	}
	w.Groups = slices.DeleteFunc(slices.Clone(who.Groups), func(group string) bool { return !slices.Contains(check.Approval.Groups, group) })
	return w, nil
}

// names returns the names of the verifications.
func (v *verified) names() []string {
	var names []string
	if v.rules == nil {
		return nil
	}
	for i, c := range v.rules.Verify {
		if c.Name == "" {
			c.Name = "verification " + strconv.Itoa(i+1)
		}
		names = append(names, c.Name)
	}
	return names
}
