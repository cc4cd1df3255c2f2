package main

import (
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// controlCommand talks to clusters that run.
type controlCommand struct {
	out     io.Writer
	control string
	only    string
	lag     float64
}

func newCluster(out io.Writer) *cobra.Command {
	c := &controlCommand{out: out}
	cmd := &cobra.Command{
		Use:   "cluster NAME fail|offline|slow|recover --control ADDRESS",
		Short: "Make a running simulated cluster fail, go offline, lag or recover",
		Args:  cobra.ExactArgs(2),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.set(cmd, args[0], args[1]) },
	}
	c.addTo(cmd)
	cmd.Flags().StringVar(&c.only, "only", "", "fail only the `workload` or deployment target of this name")
	cmd.Flags().Float64Var(&c.lag, "lag", 0, "how many times longer a slow cluster takes (default 10)")
	return cmd
}

func newKubectl(out io.Writer) *cobra.Command {
	c := &controlCommand{out: out}
	cmd := &cobra.Command{
		Use:     "kubectl --control ADDRESS NAME get KINDS",
		Short:   "Show the objects of a running simulated cluster",
		Example: "  simulated-clusters kubectl --control 127.0.0.1:8090 large-01 get configmaps -A",
		Args:    cobra.MinimumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.kubectl(cmd, args[0], args[1:]) },
	}
	c.addTo(cmd)
	// What follows the name is kubectl's own.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (c *controlCommand) addTo(cmd *cobra.Command) {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Flags().StringVar(&c.control, "control", "127.0.0.1:8090", "the `address` that the clusters were started with")
}

func (c *controlCommand) set(cmd *cobra.Command, name, text string) error {
	mode, err := simulate.ParseMode(text)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	remote, err := c.remote()
	if err != nil {
		return err
	}
	o, err := remote.Set(cmd.Context(), name, simulate.Behaviour{Mode: mode, Only: c.only, Lag: c.lag})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "simulated cluster %s: %s\n", o.Name, o.Behaviour.Mode)
	return nil
}

func (c *controlCommand) kubectl(cmd *cobra.Command, name string, args []string) error {
	remote, err := c.remote()
	if err != nil {
		return err
	}
	return remote.Kubectl(cmd.Context(), c.out, name, args)
}

func (c *controlCommand) remote() (simulate.Remote, error) {
	file, err := controlFile(c.control)
	if err != nil {
		return simulate.Remote{}, err
	}
	token, err := client.ReadToken(file)
	if err != nil {
		return simulate.Remote{}, fmt.Errorf("%w; do simulated clusters run with --control %s?", err, c.control)
	}
	server := &url.URL{Scheme: "http", Host: c.control}
	return simulate.Remote{Client: &client.Client{Server: server, Token: token, UserAgent: "simulated-clusters"}}, nil
}
