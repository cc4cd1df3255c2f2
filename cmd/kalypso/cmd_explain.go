package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// explainCommand is "kalypso explain".
type explainCommand struct {
	t      *terminal.Terminal
	source sourceFlags
	output *cli.Output
	key    string
	whatIf whatIfFlag
	// cluster is a cluster instead of a cluster type.
	cluster string
	// brief leaves out the policies that are far from selecting a pair: many cluster types are shown.
	brief bool
	// unreadable is what could change the answer and cannot be read.
	unreadable []fleet.Problem
}

// briefPolicies is how many policies are shown for one of many cluster types.
const briefPolicies = 3

func newExplain(t *terminal.Terminal) *cobra.Command {
	c := &explainCommand{t: t}
	cmd := &cobra.Command{
		Use:   "explain -e ENVIRONMENT WORKLOAD/TARGET [CLUSTERTYPE]",
		Short: "Explain why a target is, or is not, on a cluster type, and where its configuration comes from",
		Long: `Explain why a deployment target is, or is not, on each cluster type of an environment:
which policy assigns the pair, and for every other policy, which step rejected it: selectors, filters, features, taints,
spread, capacity or score. It also lists the roles and Secrets beyond its own namespace that Grants give the pair.

With --cluster it explains one cluster, which can have values of its own: see the Cluster object.
With --config it shows where the values of the platform configuration are written, and what they override.

` + uncommittedHelp + `

With --what-if it explains a hypothetical change to the environment, without a commit:

` + whatIfHelp,
		Example: `  kalypso explain -e dev hello-world-app/functional-test
  kalypso explain -e dev hello-world-app/functional-test large
  kalypso explain -e dev hello-world-app/functional-test drone --config DATABASE_URL
  kalypso explain -e dev hello-world-app/functional-test --cluster west-001 --config '*'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return cli.Exactly("WORKLOAD/TARGET")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.source.bind(cmd, t)
	c.source.bindUncommitted(cmd)
	cmd.ValidArgsFunction = c.source.completePairs(t)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(schedule.Explanation{})
	c.whatIf.bind(cmd)
	cmd.Flags().StringVar(&c.cluster, "cluster", "", "explain one `cluster` instead of a cluster type")
	completeFlag(cmd, "cluster", c.source.completeClusters(t))
	cmd.Flags().StringVar(&c.key, "config", "", "show where the value of a configuration `key` comes from; '*' shows all keys")
	return cmd
}

func (c *explainCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.cluster != "" && len(args) == 2 {
		return cli.Usage(cmd, "name a cluster type or --cluster, not both")
	}
	if err := c.source.checkUncommitted(cmd); err != nil {
		return err
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	session.noteUncommitted(cmd.Context(), c.t, &c.source, includesUncommitted)
	draft, err := session.drafter.Draft(cmd.Context(), schedule.DraftRequest{Request: session.request, Lenient: true, WhatIf: c.whatIf})
	if err != nil {
		return err
	}
	q := schedule.Question{Target: args[0], Cluster: c.cluster, Key: c.key}
	if len(args) == 2 {
		q.ClusterType = args[1]
	}
	c.brief = q.ClusterType == "" && q.Cluster == ""
	e, err := schedule.Explain(draft, q)
	if err != nil {
		return err
	}
	session.progress.End()
	return c.output.Write(c.t.Out, e, func(w io.Writer) error { return c.show(w, e) })
}

func (c *explainCommand) show(w io.Writer, e *schedule.Explanation) error {
	s := c.t.OutStyle
	c.unreadable = e.Unreadable
	fmt.Fprintf(w, "%s in %s\n", s.Bold(terminal.Printable(e.Target)), terminal.Printable(e.Environment))
	output.WhatIf(w, s, e.WhatIf)
	fmt.Fprintln(w)
	t := &terminal.Table{Indent: "  "}
	for _, p := range e.Pairs {
		for i, line := range c.reasons(p) {
			sign, name := terminal.Plain(""), terminal.Plain("")
			if i == 0 {
				sign, name = c.sign(p), terminal.Plain(p.Folder)
			}
			t.Row(sign, name, line)
		}
	}
	if err := t.Write(w); err != nil {
		return err
	}
	output.Checks(w, s, e.Findings)
	return nil
}

func (c *explainCommand) sign(p schedule.Pair) terminal.Cell {
	switch {
	case p.Held != nil:
		return terminal.Painted(c.t.OutStyle.Yellow, "!")
	case p.Assigned:
		return terminal.Painted(c.t.OutStyle.Green, "+")
	default:
		return terminal.Painted(c.t.OutStyle.Dim, "-")
	}
}

// reasons says in at least one line why a pair is what it is.
func (c *explainCommand) reasons(p schedule.Pair) []terminal.Cell {
	var lines []terminal.Cell
	for i, policy := range p.Policies {
		switch {
		case policy.Selects:
			did := "assigned by "
			if policy.Mode == v1alpha1.PolicyExclude {
				did = "excluded by "
			}
			lines = append(lines, terminal.Plain(did+policy.Policy+output.InBrackets(policy.Position)))
			lines = append(lines, c.reason(policy)...)
		case p.Assigned:
		case c.brief && i == briefPolicies:
			return append(lines, terminal.Painted(c.t.OutStyle.Dim, fmt.Sprintf("and %s; name the cluster type to see all",
				morePolicies(len(p.Policies)-i))))
		default:
			lines = append(lines, c.failed(policy)...)
		}
	}
	for _, need := range p.Needs {
		if len(need.Targets) > 0 {
			lines = append(lines, terminal.Plain("needs "+need.Dependency+": "+strings.Join(need.Targets, ", ")))
		}
	}
	onDemand := slices.ContainsFunc(p.Policies, func(p placement.PolicyReason) bool { return p.Selects && p.Mode == v1alpha1.PolicyOnDemand })
	if p.Assigned && len(p.NeededBy) > 0 && !onDemand { // their reason says it
		lines = append(lines, terminal.Plain(placement.NeededText(p.NeededBy)))
	}
	if p.Cluster != "" && p.Folder == p.ClusterType {
		lines = append(lines, terminal.Plain("cluster "+p.Cluster+" has no values of its own, and shares the folder of its type"))
	}
	if p.Held != nil {
		stays := "held: "
		if p.Published {
			stays = "published, and stays as it is: "
		}
		lines = append(lines, terminal.Plain(stays+output.WithPosition(p.Held.Message, p.Held.Position)))
	}
	for _, role := range p.Roles {
		lines = append(lines, terminal.Plain("has the role "+role.String()))
	}
	for _, secret := range p.Secrets {
		lines = append(lines, terminal.Plain("sends "+secret.String()))
	}
	if c.key != "" && p.Assigned && (p.Held == nil || len(p.Config) > 0) {
		lines = append(lines, c.configuration(p)...)
	}
	if len(lines) == 0 && len(c.unreadable) == 0 {
		lines = append(lines, terminal.Plain("no policy in this environment"))
	}
	if !p.Assigned && p.Held == nil {
		for _, u := range c.unreadable {
			lines = append(lines, terminal.Plain("unknown: "+output.WithPosition(output.Message(u), u.Position)))
		}
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
func (c *explainCommand) failed(policy placement.PolicyReason) []terminal.Cell {
	verb := " does not select it"
	if policy.Step != placement.StepSelectors {
		verb = " does not assign it"
		if policy.Mode == v1alpha1.PolicyExclude {
			verb = " does not exclude it"
		}
	}
	lines := []terminal.Cell{terminal.Plain(policy.Policy + verb + output.InBrackets(policy.Position))}
	for _, r := range policy.Failed {
		of := "the target"
		if r.Of != "target" {
			of = "the cluster type"
		}
		lines = append(lines, terminal.Painted(c.t.OutStyle.Dim, fmt.Sprintf("  %s: wants %s, has %s", of, r.Want, r.Have)))
	}
	return append(lines, c.reason(policy)...)
}

// reason says which step of a policy decided, and why.
func (c *explainCommand) reason(policy placement.PolicyReason) []terminal.Cell {
	if policy.Reason == "" {
		return nil
	}
	text := "  "
	if policy.Step != "" {
		text += string(policy.Step) + ": "
	}
	return []terminal.Cell{terminal.Painted(c.t.OutStyle.Dim, text+terminal.Printable(policy.Reason))}
}

// configuration says where values come from.
func (c *explainCommand) configuration(p schedule.Pair) []terminal.Cell {
	if len(p.Config) == 0 {
		return []terminal.Cell{
			terminal.Plain("no configuration key " + c.key),
			terminal.Painted(c.t.OutStyle.Dim, "  there is "+strings.Join(p.OtherKeys, ", ")),
		}
	}
	var lines []terminal.Cell
	for _, k := range p.Config {
		lines = append(lines,
			terminal.Plain(k.Path+" = "+output.Value(&k.Value)),
			terminal.Painted(c.t.OutStyle.Dim, "  "+layer(k.From)))
		if k.Expression != "" {
			lines = append(lines, terminal.Painted(c.t.OutStyle.Dim, "  computed by "+output.Value(&k.Expression)))
		}
		if len(k.Reads) > 0 {
			lines = append(lines, terminal.Painted(c.t.OutStyle.Dim, "  from "+strings.Join(k.Reads, ", ")))
		}
		for _, over := range k.Over {
			lines = append(lines, terminal.Painted(c.t.OutStyle.Dim, "  over "+layer(over.Layer)+": "+output.Value(&over.Value)))
		}
	}
	return lines
}

func layer(l config.Layer) string {
	plural := "s"
	if l.Labels == 1 {
		plural = ""
	}
	return fmt.Sprintf("%s  ConfigMap %s, %d label%s", output.Position(l.Position), l.ConfigMap, l.Labels, plural)
}
