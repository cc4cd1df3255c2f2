package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// targetsOf are targets of an application in an environment.
type targetsOf struct {
	workload, environment string
	names                 []string
}

// pinnedHere are the flags with which targets are rolled back, uninstalled and deployed without a server.
var pinnedHere = []string{
	"source", "branch", "path", "map", "config", "gitops", "forge-config", "forge-kind", "control-plane", "scan", "set", "set-string", "var",
}

// ask lets a server open the pull requests: one request for each application and environment.
func (c *targetPinCommand) ask(cmd *cobra.Command, server *client.Client, names []string, like deliver.PinRequest) error {
	err := leaveOut(cmd, serverReads, pinnedHere...)
	if err != nil {
		return err
	}
	if c.selector != "" && (c.app.workload == "" || c.app.environment == "") {
		return cli.Usage(cmd, "whose targets? with --server, --selector requires --workload and -e")
	}
	ctx := cmd.Context()
	groups, err := c.group(ctx, backend.ServerQuerier{Client: server}, names)
	if err != nil {
		return err
	}
	r := &targetsPinned{Targets: []deliver.RequestedPin{}, Environments: []api.ProposedEnvironment{}}
	for _, g := range groups {
		found, err := c.pin(ctx, backend.Applications{Client: server}, g, like)
		var refused *client.Refusal
		switch {
		case err != nil && (len(groups) == 1 || !errors.As(err, &refused)):
			return err
		case err != nil: // the others have their results
			for _, name := range g.names {
				r.Targets = append(r.Targets, deliver.RequestedPin{
					PinnedTo: deliver.PinnedTo{Environment: g.environment, Target: name}, Result: deliver.PinRefused, Reason: err.Error(),
				})
			}
		}
		r.Targets, r.Environments = append(r.Targets, found.Targets...), append(r.Environments, found.Environments...)
	}
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	return r.answer(false)
}

// group finds whose targets are meant. A server that is told the workload and the environment finds them itself.
func (c *targetPinCommand) group(ctx context.Context, server backend.ServerQuerier, names []string) ([]targetsOf, error) {
	if c.app.workload != "" && c.app.environment != "" {
		short := make([]string, len(names))
		for i, name := range names {
			short[i] = strings.TrimPrefix(name, c.app.workload+"/")
		}
		return []targetsOf{{c.app.workload, c.app.environment, short}}, nil
	}
	var groups []targetsOf
	for _, name := range names {
		t, err := backend.FindTarget(ctx, server, name, c.app.workload, c.app.environment)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(groups, func(g targetsOf) bool { return g.workload == t.Workload && g.environment == t.Environment })
		if i < 0 {
			i, groups = len(groups), append(groups, targetsOf{workload: t.Workload, environment: t.Environment})
		}
		groups[i].names = append(groups[i].names, t.ShortName)
	}
	return groups, nil
}

// pin sends the request for targets of an application in an environment.
func (c *targetPinCommand) pin(ctx context.Context, server backend.Applications, at targetsOf, like deliver.PinRequest) (api.PinnedTargets, error) {
	selection, options := api.TargetSelection{Targets: at.names, Selector: c.selector}, api.PinOptions{Preview: c.dryRun}
	switch {
	case like.Uninstall:
		return server.UninstallTargets(ctx, at.workload, at.environment, api.UninstallTargets{TargetSelection: selection, PinOptions: options})
	case like.Revision != "":
		return server.RollbackTarget(ctx, at.workload, at.environment, api.RollbackTarget{Target: at.names[0], Revision: like.Revision, PinOptions: options})
	}
	return server.DeployTargets(ctx, at.workload, at.environment, api.DeployTargets{TargetSelection: selection, Version: like.Version, PinOptions: options})
}
