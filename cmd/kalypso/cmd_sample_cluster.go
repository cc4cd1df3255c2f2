package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// sampleClusterCommand is "kalypso sample cluster".
type sampleClusterCommand struct {
	t      *terminal.Terminal
	sample *sampleFlags
	only   string
	lag    float64
}

func newSampleCluster(t *terminal.Terminal, f *sampleFlags) *cobra.Command {
	c := &sampleClusterCommand{t: t, sample: f}
	cmd := &cobra.Command{
		Use:   "cluster [NAME fail|offline|slow|recover]",
		Short: "List simulated clusters, or change how one behaves",
		Long: `List simulated clusters, or change how one behaves:

    fail      every new commit fails; applied commits stay
    offline   the cluster neither follows Git nor reports
    slow      the cluster takes ten times longer, or as set by --lag
    recover   the cluster works again`,
		Example: "  kalypso sample cluster\n  kalypso sample cluster large fail\n  kalypso sample cluster drone-1 fail --only nginx\n  kalypso sample cluster large recover",
		Args:    cli.AtMost("NAME", "MODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return c.list(cmd.Context())
			case 1:
				return cli.Usage(cmd, "no behavior given; use fail, offline, slow or recover")
			}
			mode, err := simulate.ParseMode(args[1])
			if err != nil {
				return cli.Usage(cmd, "%w", err)
			}
			return c.set(cmd.Context(), args[0], simulate.Behaviour{Mode: mode, Only: c.only, Lag: c.lag})
		},
	}
	cmd.Flags().StringVar(&c.only, "only", "", "fail only the `workload` or deployment target with this name")
	cmd.Flags().Float64Var(&c.lag, "lag", 0, "how many times longer a slow cluster takes (default 10)")
	return cmd
}

func (c *sampleClusterCommand) list(ctx context.Context) error {
	return c.sample.ask(func(r sample.Remote) error {
		all, err := r.Simulation().Clusters(ctx)
		if err != nil {
			return err
		}
		folder, err := c.sample.open()
		if err != nil {
			return err
		}
		if len(all) > 0 {
			err = c.showSimulated(all)
		}
		return errors.Join(err, c.showReal(folder.State.Clusters, len(all) > 0))
	})
}

// showSimulated prints the simulated clusters.
func (c *sampleClusterCommand) showSimulated(all []simulate.Overview) error {
	list := &terminal.Table{}
	list.Row(terminal.Plain("SIMULATED CLUSTER"), terminal.Plain("SERVES"), terminal.Plain("WITH"), terminal.Plain("IS"), terminal.Plain("READY"), terminal.Plain("OBJECTS"))
	for _, o := range all {
		var serves []string
		for _, m := range o.Memberships {
			serves = append(serves, m.Environment+"/"+m.ClusterType)
		}
		list.Row(terminal.Plain(o.Name), terminal.Plain(strings.Join(serves, ", ")), terminal.Plain(string(o.Reconciler)), terminal.Plain(string(o.Behaviour.Mode)),
			terminal.Plain(fmt.Sprintf("%d/%d", o.Ready(), len(o.Reconcilers))), terminal.Plain(fmt.Sprint(o.Objects)))
	}
	return list.Write(c.t.Out)
}

// showReal prints the real clusters, if there are any.
func (c *sampleClusterCommand) showReal(all []sample.RealCluster, apart bool) error {
	if len(all) == 0 {
		return nil
	}
	if apart {
		fmt.Fprintln(c.t.Out)
	}
	list := &terminal.Table{}
	list.Row(terminal.Plain("REAL CLUSTER"), terminal.Plain("SERVES AS"), terminal.Plain("CONTEXT"))
	for _, known := range all {
		list.Row(terminal.Plain(known.Name), terminal.Plain(known.ClusterType), terminal.Plain(known.Context))
	}
	return list.Write(c.t.Out)
}

func (c *sampleClusterCommand) set(ctx context.Context, name string, b simulate.Behaviour) error {
	if err := c.sample.wantSimulated(name); err != nil {
		return err
	}
	return c.sample.ask(func(r sample.Remote) error {
		o, err := r.Simulation().Set(ctx, name, b)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.t.Out, "simulated cluster %s: %s\n", terminal.Printable(o.Name), o.Behaviour.Mode)
		return nil
	})
}

// newSampleKubectl is "kalypso sample kubectl".
func newSampleKubectl(t *terminal.Terminal, f *sampleFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "kubectl NAME get KINDS [NAMES] [-A] [-n NAMESPACE] [-o FORMAT]",
		Short:   "Show objects of a simulated cluster, like kubectl get",
		Example: "  kalypso sample kubectl large get configmaps -A\n  kalypso sample kubectl drone-1 get kustomizations -A",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usage(cmd, "want a cluster, get, and kinds of objects")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.wantSimulated(args[0]); err != nil {
				return err
			}
			return f.ask(func(r sample.Remote) error { return r.Simulation().Kubectl(cmd.Context(), t.Out, args[0], args[1:]) })
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after the name belong to kubectl
	return cmd
}
