package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/config"
	"github.com/kalypso-io/kalypso/internal/placement"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// explainCommand is "kalypso explain".
type explainCommand struct {
	t      *terminal
	source sourceFlags
	output *output
	key    string
	// brief leaves out the policies that are far from selecting a pair: many cluster types are shown.
	brief bool
}

// briefPolicies is how many policies are shown for one of many cluster types.
const briefPolicies = 3

func newExplain(t *terminal) *cobra.Command {
	c := &explainCommand{t: t}
	cmd := &cobra.Command{
		Use:   "explain -e ENVIRONMENT WORKLOAD/TARGET [CLUSTERTYPE]",
		Short: "Say why a target is, or is not, on a cluster type, and where its configuration comes from",
		Long: `Say why a deployment target is, or is not, on each cluster type of an environment:
which policy selects the pair, and for every policy that does not, which requirement fails.

With --config it shows where the values of the platform configuration are written, and what they override.`,
		Example: `  kalypso explain -e dev hello-world-app/functional-test
  kalypso explain -e dev hello-world-app/functional-test large
  kalypso explain -e dev hello-world-app/functional-test drone --config DATABASE_URL`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exactly("WORKLOAD/TARGET")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.source.bind(cmd)
	c.output = outputFlag(cmd, formatText, formatJSON, formatYAML)
	cmd.Flags().StringVar(&c.key, "config", "", "show where the value of a configuration `key` comes from; '*' shows all keys")
	return cmd
}

func (c *explainCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	loaded, err := session.loader.Load(cmd.Context(), session.request)
	if err != nil {
		return err
	}
	clusterType := ""
	if len(args) == 2 {
		clusterType = args[1]
	}
	c.brief = clusterType == ""
	e, err := scheduling.Explain(loaded, args[0], clusterType, c.key)
	if err != nil {
		return err
	}
	session.progress.end()
	return c.output.write(c.t.out, e, func(w io.Writer) error { return c.show(w, e) })
}

func (c *explainCommand) show(w io.Writer, e *scheduling.Explanation) error {
	s := c.t.outStyle
	fmt.Fprintf(w, "%s in %s\n\n", s.bold(printable(e.Target)), printable(e.Environment))
	t := &table{indent: "  "}
	for _, p := range e.Pairs {
		for i, line := range c.reasons(p) {
			sign, name := plain(""), plain("")
			if i == 0 {
				sign, name = c.sign(p), plain(p.ClusterType)
			}
			t.row(sign, name, line)
		}
	}
	return t.write(w)
}

func (c *explainCommand) sign(p scheduling.Pair) cell {
	switch {
	case p.Held != nil:
		return painted(c.t.outStyle.yellow, "!")
	case p.Assigned:
		return painted(c.t.outStyle.green, "+")
	default:
		return painted(c.t.outStyle.dim, "-")
	}
}

// reasons says in at least one line why a pair is what it is.
func (c *explainCommand) reasons(p scheduling.Pair) []cell {
	var lines []cell
	for i, policy := range p.Policies {
		switch {
		case policy.Selects:
			lines = append(lines, plain("assigned by "+policy.Policy+at(policy.Position)))
		case p.Assigned:
		case c.brief && i == briefPolicies:
			return append(lines, painted(c.t.outStyle.dim, fmt.Sprintf("and %s; name the cluster type to see all",
				morePolicies(len(p.Policies)-i))))
		default:
			lines = append(lines, c.failed(policy)...)
		}
	}
	if p.Held != nil {
		lines = append(lines, plain("held: "+placed(p.Held.Message, p.Held.Position)))
	}
	if c.key != "" && p.Assigned && p.Held == nil {
		lines = append(lines, c.configuration(p)...)
	}
	if len(lines) == 0 {
		lines = append(lines, plain("no policy in this environment"))
	}
	return lines
}

func morePolicies(n int) string {
	if n == 1 {
		return "1 more policy"
	}
	return fmt.Sprintf("%d more policies", n)
}

// failed says which requirements of a policy a pair does not meet.
func (c *explainCommand) failed(policy placement.PolicyReason) []cell {
	lines := []cell{plain(policy.Policy + " does not select it" + at(policy.Position))}
	for _, r := range policy.Failed {
		of := "the target"
		if r.Of != "target" {
			of = "the cluster type"
		}
		lines = append(lines, painted(c.t.outStyle.dim, fmt.Sprintf("  %s: wants %s, has %s", of, r.Want, r.Have)))
	}
	return lines
}

// configuration says where values come from.
func (c *explainCommand) configuration(p scheduling.Pair) []cell {
	if len(p.Config) == 0 {
		return []cell{
			plain("no configuration key " + c.key),
			painted(c.t.outStyle.dim, "  there is "+strings.Join(p.OtherKeys, ", ")),
		}
	}
	var lines []cell
	for _, k := range p.Config {
		lines = append(lines,
			plain(k.Path+" = "+value(&k.Value)),
			painted(c.t.outStyle.dim, "  "+layer(k.From)))
		for _, over := range k.Over {
			lines = append(lines, painted(c.t.outStyle.dim, "  over "+layer(over.Layer)+": "+value(&over.Value)))
		}
	}
	return lines
}

func layer(l config.Layer) string {
	plural := "s"
	if l.Labels == 1 {
		plural = ""
	}
	return fmt.Sprintf("%s  ConfigMap %s, %d label%s", where(l.Position), l.ConfigMap, l.Labels, plural)
}
