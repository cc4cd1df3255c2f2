package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// platformFlags select the platform team's rules and scans for a command about an application.
type platformFlags struct {
	controlPlane string // optional
	// scan runs the scans in this process.
	scan bool
}

func (f *platformFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.controlPlane, "control-plane", "", "the control plane of the platform team, a `folder or URL`, for its rules")
	cmd.Flags().BoolVar(&f.scan, "scan", false, "run the scans of the control plane, with the programs that it names")
	cli.FlagGroup(cmd, cli.GroupControlPlane, "control-plane", "scan")
	_ = cmd.MarkFlagDirname("control-plane") // the error only says that the flag does not exist
}

func (f *platformFlags) check(cmd *cobra.Command) error {
	if f.scan && f.controlPlane == "" {
		return cli.Usage(cmd, "--scan needs --control-plane, which names the scans")
	}
	return nil
}

// open makes the drafts of a session follow the rules of the control plane, and with --scan wait for its scans. platform is nil
// without a control plane; end stops scans that are still running.
func (f *platformFlags) open(ctx context.Context, s *appSession, t *terminal.Terminal) (platform *deliver.Platform, end func(), err error) {
	if f.controlPlane == "" {
		return nil, func() {}, nil
	}
	if platform, err = openPlatform(ctx, s, f.controlPlane); err != nil {
		return nil, nil, err
	}
	s.drafter.Policies = platform
	if !f.scan {
		return platform, func() {}, nil
	}
	scanner, err := s.scansHere(t)
	if err != nil {
		return nil, nil, err
	}
	return platform, scanner.Close, nil
}

// openPlatform returns a reader of a control plane, which shares the session's access to repositories.
func openPlatform(ctx context.Context, s *appSession, controlPlane string) (*deliver.Platform, error) {
	at := controlPlane
	if fleet.IsLocal(controlPlane) {
		dir, err := localPath(controlPlane)
		if err != nil {
			return nil, err
		}
		at = dir
		s.client.Map = append(s.client.Map, standIn(ctx, dir)...)
	}
	return &deliver.Platform{
		ControlPlane: at, Loader: &schedule.Loader{Repositories: repository.NewReader(s.client), Cache: s.drafter.Loader.Cache},
	}, nil
}
