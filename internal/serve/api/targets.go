package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	selectors "k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Targets proposes what single targets of applications should have.
type Targets interface {
	// PinTargets opens the pull request of an environment in the name of who, or only finds out what it would hold. Errors for clients are
	// [SettingError].
	PinTargets(ctx context.Context, a *query.Application, r deliver.PinTargetsRequest, who access.Identity) (*deliver.RequestedPins, error)
}

// RollbackTarget rolls a target back.
type RollbackTarget struct {
	// Target is the name of the target in the Workload, or in the fleet.
	Target string `json:"target" minLength:"1" maxLength:"253"`
	// Revision is the commit of one of its revisions, or the beginning of it.
	Revision string `json:"revision" minLength:"4" maxLength:"64"`
	PinOptions
}

// UninstallTargets removes everything that targets run.
type UninstallTargets struct {
	TargetSelection
	PinOptions
}

// DeployTargets lets targets follow their environment again, or gives them one of its versions.
type DeployTargets struct {
	TargetSelection
	// Version is the version or commit of a build that the environment had, or the commit of a solution version. Default: what the
	// environment has now.
	Version string `json:"version,omitempty" maxLength:"253"`
	PinOptions
}

// TargetSelection selects targets of an environment of an application. One of the fields is required.
type TargetSelection struct {
	// Targets are names of targets in the Workload, or in the fleet.
	Targets []string `json:"targets,omitempty" maxItems:"200"`
	// Selector selects others by their labels: "region=eu,tier!=test".
	Selector string `json:"selector,omitempty" maxLength:"1000"`
}

// PinOptions are about the request.
type PinOptions struct {
	// Why is recorded in the audit trail.
	Why string `json:"why,omitempty" maxLength:"2000"`
	// Preview only finds out what the pull request would hold, and changes nothing.
	Preview bool `json:"preview,omitempty"`
}

// PinnedTargets is what became of a request about targets.
type PinnedTargets struct {
	ControlPlane string `json:"controlPlane"`
	Application  string `json:"application"`
	// Targets has a result for each target.
	Targets []deliver.RequestedPin `json:"targets"`
	// Environments has the pull request of the environment; empty if all targets are refused.
	Environments []ProposedEnvironment `json:"environments"`
}

type (
	rollbackTargetInput struct {
		ApplicationPath
		Body RollbackTarget
	}
	uninstallTargetsInput struct {
		ApplicationPath
		Body UninstallTargets
	}
	deployTargetsInput struct {
		ApplicationPath
		Body DeployTargets
	}
)

// The operations that propose what single targets should have.
const (
	rollbackTarget   = "rollback-target"
	uninstallTargets = "uninstall-targets"
	deployTargets    = "deploy-targets"
)

// maxPinned limits the targets of a request.
const maxPinned = 200

func registerTargets(s *service) {
	const path = "/applications/{name}/environments/{environment}/targets/"
	const proposed = "The result is the environment's pull request with nothing else, in the name of the client. It is never merged automatically, and checks, reviews and rings " +
		"apply to it. The same request again finds the same pull request. 409 means that a pull request with other changes is open. With preview, nothing is written."
	tell(s, operation{
		id: rollbackTarget, path: path + "rollback", summary: "Propose to roll a target back to one of its revisions",
		about: "Merged, the target keeps the files of that revision until it is deployed again. " + proposed,
	}, func(ctx context.Context, in *rollbackTargetInput) (PinnedTargets, error) {
		return s.pinTargets(ctx, rollbackTarget, in.ApplicationPath, TargetSelection{Targets: []string{in.Body.Target}}, deliver.PinRequest{Revision: in.Body.Revision}, in.Body.PinOptions)
	})
	tell(s, operation{
		id: uninstallTargets, path: path + "uninstall", summary: "Propose to remove everything that targets run",
		about: "Merged, they have no objects until they are deployed again. The deletion budget of the application applies. " + proposed,
	}, func(ctx context.Context, in *uninstallTargetsInput) (PinnedTargets, error) {
		return s.pinTargets(ctx, uninstallTargets, in.ApplicationPath, in.Body.TargetSelection, deliver.PinRequest{Uninstall: true}, in.Body.PinOptions)
	})
	tell(s, operation{
		id: deployTargets, path: path + "deploy", summary: "Propose that targets follow their environment again, or have one of its versions",
		about: "A newer build comes to an environment by promotion, for all its targets. " + proposed,
	}, func(ctx context.Context, in *deployTargetsInput) (PinnedTargets, error) {
		return s.pinTargets(ctx, deployTargets, in.ApplicationPath, in.Body.TargetSelection, deliver.PinRequest{Version: in.Body.Version}, in.Body.PinOptions)
	})
}

// pinTargets records a request about targets in the audit trail, and opens the pull request.
func (s *service) pinTargets(
	ctx context.Context, operation string, at ApplicationPath, selection TargetSelection, like deliver.PinRequest, options PinOptions,
) (PinnedTargets, error) {
	a, err := s.seen(ctx).Application(ctx, at.ApplicationQuery)
	if err == nil {
		err = hasEnvironment(&a.Application, at.Environment)
	}
	if err != nil {
		return PinnedTargets{}, err
	}
	if ctx, err = mayChange(ctx, operation, access.Place{ControlPlane: a.ControlPlane, Workspace: a.Workspace, Environment: at.Environment}); err != nil {
		return PinnedTargets{}, err
	}
	if s.Targets == nil {
		return PinnedTargets{}, newProblem(http.StatusNotImplemented, "this server does not deliver applications", "propose it where the application is delivered from")
	}
	like.Environment = at.Environment
	r := deliver.PinTargetsRequest{Like: like, Targets: selection.Targets, Most: maxPinned, Preview: options.Preview}
	switch {
	case len(selection.Targets) == 0 && selection.Selector == "":
		return PinnedTargets{}, newProblem(http.StatusUnprocessableEntity, "no target is selected", "name targets, or give a selector")
	case selection.Selector != "":
		if r.Selector, err = selectors.Parse(selection.Selector); err != nil {
			return PinnedTargets{}, invalidPart("body.selector", err)
		}
	}
	if !options.Preview {
		names := keysOf(selection.Targets, func(name string) string { return name })
		about := detail("application", a.Subject, "targets", names, "selector", selection.Selector, "revision", like.Revision, "version", like.Version, "why", safe(options.Why))
		if err := s.audit(ctx, operation, at.Environment, about); err != nil {
			return PinnedTargets{}, err
		}
	}
	found, err := s.Targets.PinTargets(ctx, &a.Application, r, access.From(ctx))
	if err != nil {
		return PinnedTargets{}, unset(err)
	}
	if !options.Preview {
		s.tellApplication(&a.Application, at.Environment, "")
	}
	return pinnedTargetsOf(&a.Application, found), nil
}

func pinnedTargetsOf(a *query.Application, found *deliver.RequestedPins) PinnedTargets {
	p := PinnedTargets{ControlPlane: a.ControlPlane, Application: a.Name, Targets: slices.Clone(found.Targets), Environments: []ProposedEnvironment{}}
	for i := range p.Targets {
		p.Targets[i].Reason = strings.TrimSpace(safe(p.Targets[i].Reason))
	}
	for _, environment := range found.Environments {
		p.Environments = append(p.Environments, *ProposedIn(environment, found.Outcomes[environment]))
	}
	return p
}
