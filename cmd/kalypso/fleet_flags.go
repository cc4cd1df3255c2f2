package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// fleetFlags choose the server or ledger that a command queries. With a ledger, a control plane can be read as well, because the
// ledger alone does not know what comes next.
type fleetFlags struct {
	backend.Flags
	controlPlane string
	chain        []string
	maps         []git.Mapping
}

func (f *fleetFlags) bind(cmd *cobra.Command) {
	f.Flags.Bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.controlPlane, "control-plane", "", "only this control plane, a `folder or URL`; beside a ledger, it is read as well")
	flags.StringSliceVar(&f.chain, "chain", nil, "beside a ledger: the `environments` one after the other, where they have no rules, as in dev,stage,prod")
	flags.Var((*mapFlag)(&f.maps), "map", "beside a ledger: read the repository `URL=PATH` from a path; may be repeated")
	cli.FlagGroup(cmd, cli.GroupControlPlane, "control-plane", "chain", "map")
	_ = cmd.MarkFlagDirname("control-plane") // the error only says that the flag does not exist
}

// subject is the control plane's name in answers; empty selects all.
func (f *fleetFlags) subject() string {
	if fleet.IsLocal(f.controlPlane) {
		return "" // the folder is the only control plane that is read
	}
	return ledger.CleanRepository(f.controlPlane)
}

// open connects to the server or opens the ledger. With a control plane, nothing of it is read yet.
func (f *fleetFlags) open(cmd *cobra.Command, t *terminal.Terminal) (*backend.Fleet, error) {
	if f.controlPlane == "" && (len(f.chain) > 0 || len(f.maps) > 0) {
		return nil, cli.Usage(cmd, "--chain and --map go with --control-plane")
	}
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return nil, err
	}
	local := f.controlPlane != "" && fleet.IsLocal(f.controlPlane)
	switch {
	case at.Server != nil && (local || len(f.chain) > 0 || len(f.maps) > 0):
		return nil, cli.Usage(cmd, "a server reads control planes itself: a folder, --chain and --map go with --ledger")
	case at.Server != nil || f.controlPlane == "":
		return at.Open(cmd.Context(), t)
	}
	l, err := open.Existing(cmd.Context(), at.Ledger)
	if err != nil {
		return nil, err
	}
	source := sourceFlags{controlPlane: f.controlPlane, maps: f.maps}
	session, err := source.open(cmd.Context(), t)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	p := session.plane(t, l, f.chain, environmentForge{env: t.Env}, &promote.Promoter{})
	return &backend.Fleet{
		Querier: &query.Observer{Ledger: l, Fleet: p.Board, Now: t.Now}, Changes: backend.Ticks(backend.PollInterval),
		Update: func(ctx context.Context) error {
			defer session.progress.End()
			return p.Look(ctx)
		},
		Close: func() error { session.close(); return l.Close() },
	}, nil
}

// plane is the session's control plane, for a command without a server. Close its promoter.
func (s *session) plane(
	t *terminal.Terminal, l ledger.Ledger, chain []string, forges pullrequest.Forges, promoter *promote.Promoter,
) *plane.Plane {
	commits := repository.Committer{Client: s.client, Author: repository.Author(t.Env)}
	promoter.Now = t.Now
	promotion := plane.NewPromotion(commits, l, promoter)
	promotion.Chains = map[string][]string{s.request.ControlPlane: chain}
	promotion.Hosts.Add(s.request.ControlPlane)
	return plane.Open(plane.Access{
		ControlPlane: s.request.ControlPlane, Commits: commits, Forges: forges, Board: &plane.Board{},
		Charts: &sandbox.Runner{}, Cache: &fleet.Cache{}, Schedulers: s.drafter.Schedulers, Promotion: promotion,
		Progress: s.drafter.Loader.Progress,
	})
}
