package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// BuildCommand is a build that CI made of a commit.
type BuildCommand struct {
	// Commit is the full hash of the commit of the application's source.
	Commit string `json:"commit" minLength:"40" maxLength:"40" pattern:"^[0-9a-f]+$"`
	// Version is what people call the build.
	Version string `json:"version,omitempty" maxLength:"500"`
	// Image is the image that was pushed: a tag, or more of its reference.
	Image string `json:"image,omitempty" maxLength:"500"`
}

// RecordedBuild is a build that was stored. The next round delivers it to the first environment.
type RecordedBuild struct {
	// Application is the name of its workload, Subject identifies it in the ledger.
	Application string        `json:"application"`
	Subject     string        `json:"subject"`
	Build       deliver.Build `json:"build"`
	By          string        `json:"by"`
}

// ApplicationPath identifies an application's environment.
type ApplicationPath struct {
	query.ApplicationQuery
	Environment string `path:"environment" maxLength:"253" doc:"Name of the environment."`
}

type (
	applicationCommandInput struct {
		ApplicationPath
		Body Command
	}
	applicationCommitInput struct {
		ApplicationPath
		Body CommitCommand
	}
	applicationCheckInput struct {
		ApplicationPath
		Body CheckCommand
	}
	applicationRollbackInput struct {
		ApplicationPath
		Body RollbackCommand
	}
	buildInput struct {
		query.ApplicationQuery
		Body BuildCommand
	}
)

func registerApplications(s *service) {
	environment := func(id, summary, about string) operation {
		return operation{
			id: id + "-application", path: "/applications/{name}/environments/{environment}/" + id, summary: summary, about: about, status: http.StatusAccepted,
		}
	}
	tell(s, environment("promote", "Promote a commit of an application next", "The rules of the environment apply. It replaces an earlier request."),
		func(ctx context.Context, in *applicationCommitInput) (Accepted, error) {
			return s.applicationCommand(ctx, "promote", in.ApplicationPath, in.Body.Commit, in.Body.Why, in.Body.DryRun, Control.Order)
		})
	tell(s, environment("pause", "Pause promotions of an application to an environment", "A rollout that has started continues."),
		func(ctx context.Context, in *applicationCommandInput) (Accepted, error) {
			return s.applicationCommand(ctx, "pause", in.ApplicationPath, "", in.Body.Why, in.Body.DryRun, Control.Pause)
		})
	tell(s, environment("resume", "Resume promotions of an application to an environment", ""),
		func(ctx context.Context, in *applicationCommandInput) (Accepted, error) {
			return s.applicationCommand(ctx, "resume", in.ApplicationPath, "", in.Body.Why, in.Body.DryRun, Control.Resume)
		})
	tell(s, environment("abort", "Abort the promotion of a commit of an application",
		"It is not promoted to or beyond this environment. To undo this, promote the commit again."),
		func(ctx context.Context, in *applicationCommitInput) (Accepted, error) {
			return s.applicationCommand(ctx, "abort", in.ApplicationPath, in.Body.Commit, in.Body.Why, in.Body.DryRun, Control.Abort)
		})
	tell(s, environment("approve", "Approve a commit of an application, for a verification that waits for it", "As for an environment of a control plane."),
		func(ctx context.Context, in *applicationCheckInput) (Accepted, error) {
			return s.applicationCheck(ctx, "approve", in.ApplicationPath, in.Body, Control.Approve)
		})
	tell(s, environment(bypass, "Do without a verification of a commit of an application", "The reason is required, and shown for ever with who gave it."),
		func(ctx context.Context, in *applicationCheckInput) (Accepted, error) {
			return s.applicationCheck(ctx, bypass, in.ApplicationPath, in.Body, Control.Bypass)
		})
	tell(s, environment(rollback, "Take back the commit of an application in an environment",
		"It returns to an earlier commit, as the build that ran. Neither the present one nor those that were merged on top of it are promoted to the environment or later ones, until one is requested or a newer one is merged. Pauses, windows and freezes do not delay it."),
		func(ctx context.Context, in *applicationRollbackInput) (Accepted, error) {
			return s.rollBackApplication(ctx, in.ApplicationPath, in.Body)
		})
	tell(s, operation{
		id: "record-build", path: "/applications/{name}/builds", summary: "Record what CI built from a commit of an application", status: http.StatusAccepted,
		about: "The server delivers it to the first environment, and promotes it from there.",
	}, s.recordBuild)
}

// applicationCommand records a command about an application in the audit trail, and passes it on.
func (s *service) applicationCommand(
	ctx context.Context, action string, at ApplicationPath, commit, why string, dryRun bool, give giving,
) (Accepted, error) {
	ctx, a, err := s.changing(ctx, action, at)
	if err != nil {
		return Accepted{}, err
	}
	if commit, err = s.commitOf(ctx, &a.Application, at.Environment, action, commit); err != nil {
		return Accepted{}, err
	}
	w := promote.Command{Subject: a.Subject, Environment: at.Environment, Commit: commit, By: access.From(ctx).Name, Why: safe(why)}
	return s.giveApplication(ctx, action, &a.Application, w, dryRun, give)
}

// rollBackApplication takes back the present commit of an application in an environment.
func (s *service) rollBackApplication(ctx context.Context, at ApplicationPath, in RollbackCommand) (Accepted, error) {
	ctx, a, err := s.changing(ctx, rollback, at)
	if err != nil {
		return Accepted{}, err
	}
	to, err := s.commitOf(ctx, &a.Application, at.Environment, rollback, in.Commit)
	if err != nil {
		return Accepted{}, err
	}
	w := promote.Command{Subject: a.Subject, Environment: at.Environment, By: access.From(ctx).Name, Why: safe(in.Why), Fast: in.Fast, Now: in.Now, All: in.All}
	for _, e := range a.Environments {
		if e.Environment == at.Environment && e.Build != nil {
			w.Commit = e.Build.Commit
		}
	}
	if in.Commit != "" {
		w.To = to
	}
	if in.Now { // clusters change outside of their windows, and in spite of their holds
		place := access.Place{ControlPlane: a.ControlPlane, Workspace: a.Workspace, Environment: at.Environment}
		if err := s.override(ctx, &w, place, in.BreakGlass, in.DryRun, "rollback --now"); err != nil {
			return Accepted{}, err
		}
	}
	accepted, err := s.giveApplication(ctx, rollback, &a.Application, w, in.DryRun, Control.RollBack)
	accepted.Commit = to
	return accepted, err
}

// changing returns the application of a command, if the client sees it there and may change it.
func (s *service) changing(ctx context.Context, action string, at ApplicationPath) (context.Context, query.ApplicationDetail, error) {
	a, err := s.seen(ctx).Application(ctx, at.ApplicationQuery)
	if err == nil {
		err = hasEnvironment(&a.Application, at.Environment)
	}
	if err != nil {
		return ctx, a, err
	}
	ctx, err = mayChange(ctx, action+"-application", access.Place{ControlPlane: a.ControlPlane, Workspace: a.Workspace, Environment: at.Environment})
	return ctx, a, err
}

// giveApplication records a command about an application in the audit trail, passes it on, and wakes its rounds.
func (s *service) giveApplication(
	ctx context.Context, action string, a *query.Application, w promote.Command, dryRun bool, give giving,
) (Accepted, error) {
	if dryRun {
		return s.rehearseApplication(ctx, a, w, give)
	}
	about := detail("application", a.Subject, "commit", w.Commit, "to", w.To, "check", w.Check, "why", w.Why)
	if err := s.audit(ctx, action, w.Environment, about); err != nil {
		return Accepted{}, err
	}
	// The commit is checked before, so the control does not read the repository.
	if err := give(&promote.Control{Ledger: s.Ledger, Now: s.now}, ctx, w); err != nil {
		return Accepted{}, err
	}
	s.tellApplication(a, w.Environment, w.Commit)
	return Accepted{
		ControlPlane: a.ControlPlane, Application: a.Name, Environment: w.Environment, Commit: w.Commit, Check: w.Check, By: w.By, Why: w.Why,
	}, nil
}

// hasEnvironment returns an error that lists the environments if an application does not have one.
func hasEnvironment(a *query.Application, environment string) error {
	var names []string
	for _, e := range a.Environments {
		if names = append(names, e.Environment); e.Environment == environment {
			return nil
		}
	}
	return query.Unknown("environment", environment, names)
}

// commitOf returns the full hash of a commit of an application. A rollback without one returns to the last that ran well.
func (s *service) commitOf(ctx context.Context, a *query.Application, environment, action, commit string) (string, error) {
	if commit == "" && action == rollback {
		good, err := s.Observer.GoodBuilds(ctx, a, environment)
		if err == nil && len(good) == 0 {
			err = newProblem(http.StatusConflict, "no earlier successful commit of "+strconv.Quote(a.Name)+" in "+strconv.Quote(environment)+" is recorded", "specify the commit to roll back to")
		}
		if err != nil {
			return "", err
		}
		return good[0].Commit, nil
	}
	if commit == "" {
		return "", nil
	}
	i := slices.IndexFunc(a.Line, func(c promote.Commit) bool { return strings.HasPrefix(c.SHA, commit) })
	if i < 0 {
		return "", fmt.Errorf("%w: commit %s is not on branch %q of %s; git log shows those that are", ledger.ErrInvalid, commit, a.Source.Branch, a.Source.Repository)
	}
	return a.Line[i].SHA, nil
}

// recordBuild records a build in the audit trail and in the ledger.
func (s *service) recordBuild(ctx context.Context, in *buildInput) (RecordedBuild, error) {
	a, err := s.seen(ctx).Application(ctx, in.ApplicationQuery)
	if err != nil {
		return RecordedBuild{}, err
	}
	if ctx, err = mayChange(ctx, "record-build", s.firstPlace(&a.Application)); err != nil {
		return RecordedBuild{}, err
	}
	r := RecordedBuild{
		Application: a.Name, Subject: a.Subject, By: access.From(ctx).Name,
		Build: deliver.Build{Commit: in.Body.Commit, Version: in.Body.Version, Image: in.Body.Image},
	}
	if err := r.Build.Check(); err != nil {
		return r, fmt.Errorf("%w: %w", ledger.ErrInvalid, err)
	}
	about := detail("application", a.Subject, "commit", r.Build.Commit, "version", r.Build.Version, "image", r.Build.Image)
	if err := s.audit(ctx, "record-build", a.Name, about); err != nil {
		return r, err
	}
	if err := deliver.RecordBuild(ctx, s.Ledger, a.Subject, r.Build, r.By, s.now()); err != nil {
		return r, err
	}
	s.tellApplication(&a.Application, "", r.Build.Commit)
	return r, nil
}

// firstPlace returns where a build of an application is delivered first: in the first environment of its chain, which the client may not
// see. It is promoted from there by the rules.
func (s *service) firstPlace(a *query.Application) access.Place {
	p := access.Place{ControlPlane: a.ControlPlane, Workspace: a.Workspace}
	whole, err := s.Observer.Applications(context.Background(), query.ApplicationsQuery{Name: a.Name, ControlPlane: a.ControlPlane, Paging: query.Paging{Limit: query.MaxLimit}})
	for _, one := range whole.Items {
		if err == nil && one.Subject == a.Subject && len(one.Environments) > 0 {
			p.Environment = one.Environments[0].Environment
		}
	}
	return p
}

// tellApplication wakes the rounds of an application, and tells listeners.
func (s *service) tellApplication(a *query.Application, environment, commit string) {
	if s.OnApplication != nil {
		s.OnApplication(a.ControlPlane, a.Subject)
	}
	s.Events.Publish(Signal{Type: SignalApplication, ControlPlane: a.ControlPlane, Application: a.Name, Environment: environment, Commit: commit})
}
