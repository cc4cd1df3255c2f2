package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// clusterImportCommand is "kalypso cluster import".
type clusterImportCommand struct {
	t         *terminal.Terminal
	options   fleet.ImportOptions
	out       string
	overwrite bool
	// propose opens a pull request instead of writing files.
	propose bool
	source  sourceFlags
	forges  pullRequestFlags
	output  *cli.Output
}

// importedClusters is the result of the command.
type importedClusters struct {
	// Folder has a file for each cluster: of this machine, or with Environment of its branch.
	Folder      string `json:"folder"`
	Environment string `json:"environment,omitempty"`
	// Clusters is how many the list has. Their files are New, Changed or Unchanged.
	Clusters  int `json:"clusters"`
	New       int `json:"new"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	// Elsewhere are clusters that the environment branch has in other files.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// PullRequest is open; absent without one.
	PullRequest *api.ProposedPullRequest `json:"pullRequest,omitempty"`
	// Done lists what was done on the forge, in order, and Waits why the pull request is not opened.
	Done  []string `json:"done,omitempty"`
	Waits string   `json:"waits,omitempty"`
}

// counts says in words what became of the clusters.
func (i importedClusters) counts() string {
	return fmt.Sprintf("%s: %d new, %d changed, %d unchanged in %s", terminal.Count(i.Clusters, "cluster"), i.New, i.Changed, i.Unchanged, terminal.Printable(i.Folder))
}

func newClusterImport(t *terminal.Terminal) *cobra.Command {
	c := &clusterImportCommand{t: t}
	cmd := &cobra.Command{
		Use:   "import FILE --out DIR [--pull-request]",
		Short: "Write Cluster objects for the clusters in a list",
		Long: `Write a Cluster object for each cluster in a list, one file each: into a folder of the environment branch's work tree, or with
--pull-request into that folder of the environment branch. Its check runs "kalypso plan".

    ClusterProfiles, Cluster API, CSV, az, gcloud, aws ─► kalypso cluster import ─► DIR/NAME.yaml ─► pull request

The list is a file, or - for stdin: ClusterProfile objects (multicluster.x-k8s.io), Cluster objects of Cluster API, a CSV file with the
columns name, clusterType, ring and one for each label, or the JSON of az aks list, gcloud container clusters list, aws eks list-clusters
or aws eks describe-cluster. Tags and resource labels become labels, and a location becomes the label region.

The command overwrites a file with other content only with --overwrite. It never removes a file.

There is one pull request for each environment, from kalypso-clusters/ENVIRONMENT. If you run the command again, it updates the pull request
from the list, or closes it if the environment branch has all clusters. The environment variables contain a token for the forge: GITHUB_TOKEN, GITLAB_TOKEN,
GITEA_TOKEN, AZURE_DEVOPS_TOKEN or BITBUCKET_TOKEN.`,
		Example: `  kalypso cluster import stores.csv --out clusters
  az aks list | kalypso cluster import - --type edge --out clusters
  kubectl get clusterprofiles -A -o yaml | kalypso cluster import - --type-label tier --out clusters
  kalypso cluster import stores.csv --out clusters --pull-request -e prod --control-plane https://github.com/acme/control-plane`,
		Args: cli.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.options.Type, "type", "", "the cluster `type` of clusters for which the list has none")
	flags.StringVar(&c.options.TypeLabel, "type-label", "", "the `label` whose value is the cluster type")
	flags.StringArrayVar(&c.options.Labels, "label", nil, "keep this `label`; may be repeated (default: all)")
	flags.StringVar(&c.out, "out", "", "the `folder` for the files; with --pull-request, of the environment branch")
	flags.BoolVar(&c.overwrite, "overwrite", false, "replace files with other content")
	flags.BoolVar(&c.propose, "pull-request", false, "open the pull request of the environment, or update it, instead of writing files")
	flags.StringVar(&c.source.controlPlane, "control-plane", "", "with --pull-request: the `URL` of the control plane")
	flags.StringVarP(&c.source.environment, "environment", "e", "", "with --pull-request: the `name` of the environment")
	bindForges(cmd, &c.forges)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(importedClusters{})
	cli.FlagGroup(cmd, cli.GroupControlPlane, "control-plane", "environment")
	return cmd
}

func (c *clusterImportCommand) run(cmd *cobra.Command, file string) error {
	if err := c.check(cmd); err != nil {
		return err
	}
	text, err := c.read(file)
	if err != nil {
		return err
	}
	clusters, notes, err := fleet.ImportClusters(text, c.options)
	if err != nil {
		return cli.Failed(fmt.Errorf("read %s: %w", terminal.Printable(file), err), "see kalypso cluster import --help for the lists that it reads")
	}
	for _, note := range notes {
		fmt.Fprintln(c.t.Err, terminal.Printable(note))
	}
	if c.propose {
		return c.open(cmd.Context(), clusters)
	}
	return c.write(clusters)
}

// check refuses combinations that make no sense.
func (c *clusterImportCommand) check(cmd *cobra.Command) error {
	switch kind := c.forges.kind; {
	case c.out == "":
		return cli.Usage(cmd, "--out is required")
	case !c.propose && (c.source.controlPlane != "" || c.source.environment != "" || c.forges != pullRequestFlags{}):
		return cli.Usage(cmd, "--control-plane, --environment, --forge-config and --forge-kind go with --pull-request")
	case !c.propose:
		return nil
	case kind != "" && !slices.Contains(kindsOfTokens(), kind):
		return cli.Usage(cmd, "--forge-kind %q is none of %s", kind, strings.Join(kindsOfTokens(), ", "))
	case fleet.IsLocal(c.source.controlPlane):
		return cli.Usage(cmd, "--pull-request needs the URL of the control plane on its forge, as --control-plane https://HOST/OWNER/REPOSITORY")
	case !filepath.IsLocal(c.out):
		return cli.Usage(cmd, "with --pull-request, --out %q is a folder of the environment branch, such as clusters", c.out)
	}
	return c.source.wantEnvironment(cmd)
}

// open proposes the clusters.
func (c *clusterImportCommand) open(ctx context.Context, clusters []v1alpha1.Cluster) error {
	hosts, access, err := c.forges.forges(c.t.Env)
	if err != nil {
		return err
	}
	s, err := c.source.open(ctx, c.t)
	if err != nil {
		return err
	}
	defer s.close()
	s.client.Map, s.client.Credentials = append(s.client.Map, access.Maps...), access.Credentials
	importer := &schedule.Importer{
		Loader: s.drafter.Loader, Committer: repository.Committer{Client: s.client, Author: repository.Author(c.t.Env)}, Forges: hosts,
	}
	result, err := importer.Import(ctx, schedule.Import{Request: s.request, Clusters: clusters, Folder: filepath.ToSlash(c.out), Overwrite: c.overwrite})
	if errors.Is(err, schedule.ErrExists) {
		return cli.Failed(err, "propose to replace them with --overwrite")
	}
	if err != nil {
		return err
	}
	s.progress.End()
	for _, where := range result.Elsewhere {
		fmt.Fprintln(c.t.Err, "left alone: "+terminal.Printable(where))
	}
	r := importedClusters{
		Folder: c.out, Environment: c.source.environment, Clusters: len(clusters), New: len(result.New), Changed: len(result.Changed), Unchanged: result.Unchanged,
		Elsewhere: result.Elsewhere, PullRequest: api.ProposedPullRequestOf(result.PullRequest), Done: result.Did, Waits: result.Waits,
	}
	return c.output.Write(c.t.Out, r, func(w io.Writer) error { return showImported(w, r) })
}

// showImported says what was done for a pull request.
func showImported(w io.Writer, r importedClusters) error {
	fmt.Fprintf(w, "%s of %s\n", r.counts(), terminal.Printable(r.Environment))
	for _, line := range r.Done {
		fmt.Fprintln(w, terminal.Printable(line))
	}
	line := "nothing to propose: the environment branch has all of them"
	switch {
	case r.Waits != "":
		line = "waits: " + r.Waits
	case r.PullRequest != nil && r.New+r.Changed > 0 && len(r.Done) == 0:
		line = "up to date: " + r.PullRequest.URL
	case r.PullRequest != nil && r.New+r.Changed > 0:
		line = r.PullRequest.URL
	}
	_, err := fmt.Fprintln(w, terminal.Printable(line))
	return err
}

// write writes the files of the clusters.
func (c *clusterImportCommand) write(clusters []v1alpha1.Cluster) error {
	files := make(map[string][]byte, len(clusters))
	var names, differ []string
	for i := range clusters {
		at := filepath.Join(c.out, clusters[i].Name+".yaml")
		files[at] = fleet.ClusterDocument(&clusters[i])
		switch before, err := os.ReadFile(at); {
		case errors.Is(err, fs.ErrNotExist):
			names = append(names, at)
		case err != nil:
			return err
		case !bytes.Equal(before, files[at]):
			names, differ = append(names, at), append(differ, at)
		}
	}
	if len(differ) > 0 && !c.overwrite {
		return cli.Failed(fmt.Errorf("%s of %d exist with other content, such as %s", terminal.Count(len(differ), "file"), len(clusters), terminal.Printable(differ[0])),
			"replace them with --overwrite, and see the differences with git diff")
	}
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	for _, at := range names {
		if err := os.WriteFile(at, files[at], 0o644); err != nil { //nolint:gosec // the files are for a public part of a work tree
			return err
		}
	}
	r := importedClusters{
		Folder: c.out, Clusters: len(clusters), New: len(names) - len(differ), Changed: len(differ), Unchanged: len(clusters) - len(names),
	}
	return c.output.Write(c.t.Out, r, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, r.counts())
		return err
	})
}

func (c *clusterImportCommand) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(c.t.In, fleet.MaxFileSize+1))
	}
	return os.ReadFile(file)
}
