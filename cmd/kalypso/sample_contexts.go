package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/sample/install"
)

// parseContexts reads which real clusters serve as what, and names them as the simulated ones are named in whose place they are.
func parseContexts(texts []string) ([]sample.RealCluster, error) {
	var all []sample.RealCluster
	count := map[string]int{}
	for _, text := range texts {
		clusterType, context, ok := strings.Cut(text, "=")
		if !ok || context == "" || !slices.Contains(sample.ClusterTypes(), clusterType) {
			return nil, fmt.Errorf("--kube-context %q: want TYPE=CONTEXT, with a type of %s", text, strings.Join(sample.ClusterTypes(), ", "))
		}
		if slices.ContainsFunc(all, func(c sample.RealCluster) bool { return c.Context == context }) {
			return nil, fmt.Errorf("--kube-context %q: the context is named twice, and a cluster serves as one type", text)
		}
		count[clusterType]++
		name := fmt.Sprintf("%s-%d", clusterType, count[clusterType])
		if name == "large-1" {
			name = "large"
		}
		all = append(all, sample.RealCluster{Name: name, ClusterType: clusterType, Context: context})
	}
	return all, nil
}

// examine checks whether a cluster can take part: it answers, runs Flux, and has no other objects with the names that are needed.
func examine(ctx context.Context, wanted sample.RealCluster, s sample.State) (*realCluster, error) {
	c, err := openCluster(wanted)
	if err != nil {
		return nil, err
	}
	if c.UID, err = c.Identify(ctx); err != nil {
		err = fmt.Errorf("context %q: %w", c.Context, err)
		if errors.Is(err, install.ErrNoFlux) {
			return nil, cli.Failed(err, "flux install --context "+terminal.ShellWord(c.Context)+" installs it")
		}
		return nil, err
	}
	for _, other := range s.Clusters {
		if other.UID == c.UID {
			return nil, fmt.Errorf("contexts %q and %q lead to the same cluster, and a cluster serves as one type", other.Context, c.Context)
		}
	}
	objects, err := c.named(s)
	if err != nil {
		return nil, err
	}
	if err := c.Free(ctx, objects); err != nil {
		return nil, cli.Failed(fmt.Errorf("context %q: %w", c.Context, err), "take another cluster, or remove there what has the label "+install.Label+" of an earlier sample")
	}
	if onThisMachine(s.Site.URL) && !onThisMachine(c.config.Host) {
		return nil, cli.Failed(fmt.Errorf("context %q: the cluster at %s cannot reach %s, which is this machine alone", c.Context, c.config.Host, s.Site.URL),
			"create the repositories where the cluster reaches them, with --forge")
	}
	return c, nil
}

// agree prints what is going to be installed and where, and asks for confirmation.
func (c *sampleUpCommand) agree(clusters []*realCluster, s sample.State) error {
	fmt.Fprintf(c.t.Err, "this is installed, with the label %s=%s, by which kalypso sample down%s finds and removes it:\n", install.Label, s.ID, c.sample.flag())
	for _, cluster := range clusters {
		objects, err := cluster.named(s)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.t.Err, "\n  %s, a cluster of type %s: context %s at %s\n", cluster.Name, cluster.ClusterType, terminal.Printable(cluster.Context), terminal.Printable(cluster.config.Host))
		for _, o := range objects {
			fmt.Fprintf(c.t.Err, "    %s\n", terminal.Printable(install.Name(o)))
		}
	}
	fmt.Fprintf(c.t.Err, "\nand by Flux whatever the branches %s of %s say.\n", strings.Join(sample.Environments(), " and "), s.Site.Repository(sample.GitOps))
	fmt.Fprintf(c.t.Err, "The clusters have to reach %s.\n", s.Site.URL)
	if onThisMachine(s.Site.URL) {
		fmt.Fprintln(c.t.Err, "That is this machine itself: it works for clusters whose Flux runs on it, and not in a container.")
	}
	if c.yes {
		return nil
	}
	if in, ok := c.t.In.(io.Writer); !ok || !terminal.IsTerminal(in) {
		return cli.Failed(errors.New("not confirmed"), "--yes does")
	}
	fmt.Fprint(c.t.Err, "\nGo on? [y/N] ")
	answer, _ := bufio.NewReader(c.t.In).ReadString('\n') // the end of the input is no
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return cli.Failed(errors.New("not confirmed"), "nothing was changed")
	}
	return nil
}
