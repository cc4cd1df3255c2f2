package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// clusterRevokeCommand is "kalypso cluster revoke".
type clusterRevokeCommand struct {
	t      *terminal.Terminal
	place  backend.Flags
	output *cli.Output
}

func newClusterRevoke(t *terminal.Terminal) *cobra.Command {
	c := &clusterRevokeCommand{t: t}
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a cluster's credential and memberships",
		Long: `Revoke the credential and memberships of a cluster. Gates no longer wait for it, and its reports are refused.
Earlier reports stay in the ledger. To bring the cluster back with another credential, register it again.`,
		Example: `  kalypso cluster revoke large-07`,
		Args:    cli.Exactly("NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	cmd.ValidArgsFunction = completeFirst(completeFleet(&c.place, t, clusterNames))
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(api.Credential{})
	return cmd
}

func (c *clusterRevokeCommand) run(cmd *cobra.Command, name string) error {
	return c.place.WithRegistrar(cmd, c.t, open.Existing, func(r backend.Registrar) error {
		made, err := r.Revoke(cmd.Context(), name)
		if err != nil {
			return err
		}
		return c.output.Write(c.t.Out, made, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s is revoked: gates no longer wait for it, and its reports are refused\n", terminal.Printable(made.Cluster))
			return err
		})
	})
}

// clusterRotateCommand is "kalypso cluster rotate".
type clusterRotateCommand struct {
	t          *terminal.Terminal
	place      backend.Flags
	output     *cli.Output
	credential string
}

func newClusterRotate(t *terminal.Terminal) *cobra.Command {
	c := &clusterRotateCommand{t: t}
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Replace a cluster's credential",
		Long: `Replace the credential of a cluster. The old credential ends immediately: reports wait in the agent's queue until the agent has
the new one. The agent reads the file before each attempt and needs no restart.`,
		Example: `  kalypso cluster rotate large-07 --credential large-07.token`,
		Args:    cli.Exactly("NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	cmd.ValidArgsFunction = completeFirst(completeFleet(&c.place, t, clusterNames))
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(registered{})
	cmd.Flags().StringVar(&c.credential, "credential", "", "write the credential to a new `file` instead of showing it")
	return cmd
}

func (c *clusterRotateCommand) run(cmd *cobra.Command, name string) error {
	file, err := newSecretFile(c.credential)
	if err != nil {
		return err
	}
	var made registered
	err = c.place.WithRegistrar(cmd, c.t, open.Existing, func(r backend.Registrar) error {
		var err error
		made.Credential, err = r.Rotate(cmd.Context(), name)
		return err
	})
	if err != nil {
		return errors.Join(err, file.discard())
	}
	if err := file.keep(&made); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, made, func(w io.Writer) error { return showRegistered(w, made, "has a new credential") })
}
