package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// platformFlags say whether the rules and scans of the platform team count for a command of an application.
type platformFlags struct {
	// controlPlane has them; empty for none.
	controlPlane string
	// scan runs the scans here.
	scan bool
}

func (f *platformFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.controlPlane, "control-plane", "", "the control plane of the platform team, a `folder or URL`, for its rules")
	cmd.Flags().BoolVar(&f.scan, "scan", false, "run the scans of the control plane, with the programs that it names")
	_ = cmd.MarkFlagDirname("control-plane") // the error only says that the flag does not exist
}

func (f *platformFlags) check(cmd *cobra.Command) error {
	if f.scan && f.controlPlane == "" {
		return cli.Usage(cmd, "which scans? --control-plane has them")
	}
	return nil
}

// open makes the drafts of a session keep the rules of the control plane, and wait for its scans where they run here. platform is nil
// without a control plane; end ends what still runs.
func (f *platformFlags) open(ctx context.Context, s *appSession, t *terminal.Terminal) (platform *platformReader, end func(), err error) {
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

// platformReader reads what the platform team says about environments: rules for manifests, and configuration.
type platformReader struct {
	loader       *schedule.Loader
	controlPlane string
	loaded       map[string]*schedule.Loaded
}

var _ deliver.Policies = (*platformReader)(nil)

func openPlatform(ctx context.Context, s *appSession, controlPlane string) (*platformReader, error) {
	at := controlPlane
	if fleet.IsLocal(controlPlane) {
		dir, err := localPath(controlPlane)
		if err != nil {
			return nil, err
		}
		at = dir
		s.client.Map = append(s.client.Map, standIn(ctx, dir)...)
	}
	return &platformReader{
		loader:       &schedule.Loader{Repositories: repository.NewReader(s.client), Cache: s.drafter.Loader.Cache},
		controlPlane: at, loaded: map[string]*schedule.Loaded{},
	}, nil
}

func (p *platformReader) load(ctx context.Context, environment string) (*schedule.Loaded, error) {
	if known := p.loaded[environment]; known != nil {
		return known, nil
	}
	loaded, err := p.loader.Load(ctx, schedule.Request{ControlPlane: p.controlPlane, Environment: environment})
	if err == nil {
		p.loaded[environment] = loaded
	}
	return loaded, err
}

// Policy returns the rules for the manifests of an environment.
func (p *platformReader) Policy(ctx context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	loaded, err := p.load(ctx, environment)
	if err != nil {
		return check.Policy{}, nil, err
	}
	policy, problems := check.PolicyOf(loaded.Snapshot)
	return policy, problems, nil
}

// contract says what a workload needs of the platform in an environment.
func (p *platformReader) contract(ctx context.Context, environment, workload string) ([]deliver.Need, error) {
	loaded, err := p.load(ctx, environment)
	if err != nil {
		return nil, err
	}
	return deliver.Contract(loaded.Snapshot, workload), nil
}
