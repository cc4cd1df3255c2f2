package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

func newTargetRollback(t *terminal.Terminal) *cobra.Command {
	c := &targetPinCommand{t: t}
	revision := ""
	cmd := &cobra.Command{
		Use:   "rollback TARGET --to REVISION",
		Short: "Propose to roll a target back to one of its revisions",
		Long: `Propose to roll a target back to one of its revisions, which "kalypso target revisions" lists: open the pull request of its environment with the
files of that revision, byte for byte.

    revision of the GitOps branch ─► the target's files ─► pull request ─► merged by people ─► pinned until "kalypso target deploy"

The target is then pinned: it keeps these files while the environment's other targets move on. The pull request contains nothing else; the environment's
other changes wait until it is merged or closed. It is never merged automatically, and checks, reviews, rings and gates apply to it.
Running the command again updates the same pull request. It exits with 3 if the checks refuse the revision's files.

With --server, the server that delivers the application opens the pull request, in your name. That needs the role operator there, and no access to
the repositories.`,
		Example: `  kalypso target rollback functional-test --to 3f2a9c1
  kalypso target rollback functional-test --to 3f2a9c1 --dry-run
  kalypso target rollback hello-world-app-functional-test --to 3f2a9c1 --server https://kalypso.example.com`,
		Args: cli.Exactly("TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if revision == "" {
				return cli.Usage(cmd, "to which revision? name it, as in --to 3f2a9c1; kalypso target revisions lists them")
			}
			return c.run(cmd, args, deliver.PinRequest{Revision: revision})
		},
	}
	c.bind(cmd)
	cmd.ValidArgsFunction = completeFirst(cmd.ValidArgsFunction)
	cmd.Flags().StringVar(&revision, "to", "", "the `commit` of the revision, or the beginning of it")
	return cmd
}

func newTargetUninstall(t *terminal.Terminal) *cobra.Command {
	c := &targetPinCommand{t: t}
	cmd := &cobra.Command{
		Use:   "uninstall TARGET...",
		Short: "Propose to uninstall targets",
		Long: `Propose to uninstall targets: open their environment's pull request, which removes all of their objects. Their folders stay, so
that reconcilers remove what they applied. The targets stay in the Workload; "kalypso target deploy" installs them again.

The pull request contains nothing else, and is never merged automatically. Beyond the application's deletion budget, it needs the label
kalypso/allow-deletions. Running the command again updates the same pull request.`,
		Example: `  kalypso target uninstall functional-test
  kalypso target uninstall -e dev --selector tier=edge --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, args, deliver.PinRequest{Uninstall: true})
		},
	}
	c.bind(cmd)
	c.bindSelector(cmd)
	return cmd
}

func newTargetDeploy(t *terminal.Terminal) *cobra.Command {
	c := &targetPinCommand{t: t}
	version := ""
	cmd := &cobra.Command{
		Use:   "deploy TARGET... [--version VERSION]",
		Short: "Propose that targets follow their environment again, or get one of its versions",
		Long: `Propose that targets that were rolled back or uninstalled follow their environment again: open its pull request, which gives them the
environment's current build and configuration.

With --version, they get their files of an earlier version of the environment, which "kalypso solution versions" lists, and are pinned to it. A
newer build reaches an environment by "kalypso app deploy" and promotion, for all its targets.

The pull request contains nothing else, and is never merged automatically. Running the command again updates the same pull request.`,
		Example: `  kalypso target deploy functional-test
  kalypso target deploy -e prod --selector region=eu --version 1.3.0`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, args, deliver.PinRequest{Version: version})
		},
	}
	c.bind(cmd)
	c.bindSelector(cmd)
	cmd.Flags().StringVar(&version, "version", "", "the `version` or commit of a build, or the commit of a solution version (default: what the environment has)")
	return cmd
}
