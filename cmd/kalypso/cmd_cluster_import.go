package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// clusterImportCommand is "kalypso cluster import".
type clusterImportCommand struct {
	t         *terminal.Terminal
	options   fleet.ImportOptions
	out       string
	overwrite bool
}

func newClusterImport(t *terminal.Terminal) *cobra.Command {
	c := &clusterImportCommand{t: t}
	cmd := &cobra.Command{
		Use:   "import FILE --out DIR",
		Short: "Write Cluster objects for the clusters in a list",
		Long: `Write a Cluster object for each cluster in a list, one file each, into a folder of the environment branch's work tree.
Commit the files on a branch, and open a pull request: its check runs "kalypso plan".

    ClusterProfiles, Cluster API, CSV, az, gcloud, aws ─► kalypso cluster import ─► DIR/NAME.yaml ─► git commit

The list is a file, or - for stdin: ClusterProfile objects (multicluster.x-k8s.io), Cluster objects of Cluster API, a CSV file with the
columns name, clusterType, ring and one for each label, or the JSON of az aks list, gcloud container clusters list, aws eks list-clusters
or aws eks describe-cluster. Tags and resource labels become labels, and a location becomes the label region.

A file that exists with other content is not written, unless --overwrite is given.`,
		Example: `  kalypso cluster import stores.csv --out clusters
  az aks list | kalypso cluster import - --type edge --out clusters
  kubectl get clusterprofiles -A -o yaml | kalypso cluster import - --type-label tier --out clusters`,
		Args: cli.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.options.Type, "type", "", "the cluster `type` of clusters for which the list has none")
	flags.StringVar(&c.options.TypeLabel, "type-label", "", "the `label` whose value is the cluster type")
	flags.StringArrayVar(&c.options.Labels, "label", nil, "keep this `label`; may be repeated (default: all)")
	flags.StringVar(&c.out, "out", "", "the `folder` for the files")
	flags.BoolVar(&c.overwrite, "overwrite", false, "replace files with other content")
	return cmd
}

func (c *clusterImportCommand) run(cmd *cobra.Command, file string) error {
	if c.out == "" {
		return cli.Usage(cmd, "--out is required")
	}
	text, err := c.read(file)
	if err != nil {
		return err
	}
	clusters, notes, err := fleet.ImportClusters(text, c.options)
	if err != nil {
		return cli.Failed(fmt.Errorf("read %s: %w", terminal.Printable(file), err), "see kalypso cluster import --help for the lists that it reads")
	}
	files := make(map[string][]byte, len(clusters))
	var names, differ []string
	for i := range clusters {
		at := filepath.Join(c.out, clusters[i].Name+".yaml")
		files[at] = clusterDocument(&clusters[i])
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
	for _, note := range notes {
		fmt.Fprintln(c.t.Err, terminal.Printable(note))
	}
	_, err = fmt.Fprintf(c.t.Out, "%s: %d new, %d changed, %d unchanged in %s\n", terminal.Count(len(clusters), "cluster"),
		len(names)-len(differ), len(differ), len(clusters)-len(names), terminal.Printable(c.out))
	return err
}

func (c *clusterImportCommand) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(c.t.In, fleet.MaxFileSize+1))
	}
	return os.ReadFile(file)
}

// clusterDocument returns a Cluster as people write it.
func clusterDocument(c *v1alpha1.Cluster) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %q\nspec:\n  clusterType: %q\n", c.APIVersion, c.Kind, c.Name, c.Spec.ClusterType)
	if c.Spec.Ring != "" {
		fmt.Fprintf(&b, "  ring: %q\n", c.Spec.Ring)
	}
	if len(c.Spec.Labels) > 0 {
		b.WriteString("  labels:\n")
		for _, key := range slices.Sorted(maps.Keys(c.Spec.Labels)) {
			fmt.Fprintf(&b, "    %q: %q\n", key, c.Spec.Labels[key])
		}
	}
	return b.Bytes()
}
