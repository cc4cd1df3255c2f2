package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule/carry"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// bundleApplyCommand is "kalypso bundle apply".
type bundleApplyCommand struct {
	t        *terminal.Terminal
	output   *cli.Output
	site     carry.Expected
	keys     []string
	maps     []git.Mapping
	registry string
}

// bundleApplied is the result of the command.
type bundleApplied struct {
	*carry.Applied
	Environment string          `json:"environment"`
	ClusterType string          `json:"clusterType"`
	Commit      string          `json:"commit"`
	Missing     []carry.Missing `json:"missing,omitempty"`
}

func newBundleApply(t *terminal.Terminal) *cobra.Command {
	c := &bundleApplyCommand{t: t}
	cmd := &cobra.Command{
		Use:   "apply FILE -e ENVIRONMENT --cluster-type NAME --key FILE --map URL=PATH",
		Short: "Apply a bundle to the repositories and the registry behind an air gap",
		Long: `Apply a bundle to the repositories and the registry behind an air gap. Commits and images keep their hashes.

Everything is checked before anything changes: the signature, every file, the environment and cluster type, and that the bundle is not
older than the last one. Images and charts come first, then the applications, and the GitOps branch last. An interrupted run is completed
by running the command again.

Each repository of the bundle needs a --map to a folder or URL inside; a folder that does not exist becomes a bare repository. An image
keeps its path and tag in the registry, as registry mirrors expect: docker.io/library/nginx:1.27 becomes
HOST/library/nginx:1.27. Credentials are those of Git and of "docker login".

The branch ` + carry.StateBranch("ENVIRONMENT", "CLUSTER-TYPE") + ` of the GitOps repository inside records the bundles that were applied.`,
		Example: `  kalypso bundle apply prod-drone.tar -e prod --cluster-type drone --key key.pub --map https://github.com=/srv/git --registry registry.inside:5000
  kalypso bundle apply prod-drone.tar -e prod --cluster-type drone --key key.pub --map https://github.com/acme=https://git.inside/acme`,
		Args: cli.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(bundleApplied{})
	flags := cmd.Flags()
	flags.StringVarP(&c.site.Environment, "environment", "e", "", "the `name` of the environment of this site")
	flags.StringVar(&c.site.ClusterType, "cluster-type", "", "the `name` of the cluster type of this site")
	flags.StringArrayVar(&c.keys, "key", nil, "a `file` with the sender's public key; may be repeated")
	flags.Var((*mapFlag)(&c.maps), "map", "write the repository `URL=PATH` to a path or URL inside; may be repeated")
	flags.StringVar(&c.registry, "registry", "", "the registry for images and charts, `HOST[/PATH]`; http://HOST[/PATH] for one without encryption")
	return cmd
}

func (c *bundleApplyCommand) run(cmd *cobra.Command, file string) error {
	if c.site.Environment == "" || c.site.ClusterType == "" || len(c.keys) == 0 {
		return cli.Usage(cmd, "-e, --cluster-type and --key are required")
	}
	registry, plain, err := parseRegistry(c.registry)
	if err != nil {
		return cli.AsUsage(cmd, err)
	}
	keys, err := readPublicKeys(c.keys)
	if err != nil {
		return cli.Failed(fmt.Errorf("read --key: %w", err), "")
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	progress := c.t.Progress()
	defer progress.End()
	progress.Say("checking %s", file)
	archive, err := carry.Open(f, info.Size(), keys...)
	if err != nil {
		return bundleFailure(err)
	}
	if err := c.checkMaps(archive.Manifest); err != nil {
		return cli.AsUsage(cmd, err)
	}
	client := &git.Client{
		Map: c.maps, Env: func(name string) string { return c.t.Env[name] }, Progress: func(line string) { progress.Say("%s", line) },
	}
	defer client.Close() //nolint:errcheck // its files were only read
	uploads, err := remote.NewUserClient(func(name string) string { return c.t.Env[name] })
	if err != nil {
		return err
	}
	uploads.PlainHTTP = func(host string) bool { return plain || isLoopback(host) }
	inside := repository.Inside{Client: client, Author: repository.Author(c.t.Env)}
	applier := &carry.Applier{
		Inside: inside, Records: inside, Uploader: repository.CarriedRegistries{Client: uploads}, Registry: registry,
		Progress: func(what string) { progress.Say("%s", what) },
	}
	return c.apply(cmd.Context(), applier, archive, progress)
}

func (c *bundleApplyCommand) apply(ctx context.Context, applier *carry.Applier, archive *carry.Archive, progress *terminal.Progress) error {
	done, err := applier.Apply(ctx, archive, c.site)
	if err != nil {
		return bundleFailure(err)
	}
	progress.End()
	m := archive.Manifest
	result := bundleApplied{done, m.Environment, m.ClusterType, m.GitOps.Commit, m.Missing}
	return c.output.Write(c.t.Out, result, func(w io.Writer) error { return c.show(w, &result) })
}

// checkMaps wants a mapping for each repository: without one, the command would write to the repository outside.
func (c *bundleApplyCommand) checkMaps(m *carry.Manifest) error {
	for _, r := range m.Repositories {
		if _, ok := git.Rewrite(c.maps, r.URL); !ok {
			return fmt.Errorf("no --map for repository %s: name its place inside, as in --map %s=/srv/git/NAME", terminal.Printable(r.URL), terminal.Printable(r.URL))
		}
	}
	return nil
}

// parseRegistry parses the value of --registry.
func parseRegistry(text string) (registry string, plain bool, err error) {
	rest, isURL := text, false
	for _, scheme := range []string{"http://", "https://", "oci://"} {
		if r, ok := strings.CutPrefix(text, scheme); ok {
			rest, isURL, plain = r, true, scheme == "http://"
		}
	}
	if u, err := url.Parse("https://" + rest); text != "" && (err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || isURL && rest == "") {
		return "", false, fmt.Errorf("--registry %q is not HOST or HOST/PATH", text)
	}
	return strings.TrimRight(rest, "/"), plain, nil
}

func readPublicKeys(files []string) ([]ed25519.PublicKey, error) {
	var keys []ed25519.PublicKey
	for _, file := range files {
		text, err := secretfile.Read(file)
		if err != nil {
			return nil, err
		}
		key, err := hub.ParseReportPublicKey(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// bundleFailure says what to do next.
func bundleFailure(err error) error {
	switch {
	case errors.Is(err, carry.ErrInvalid):
		return cli.Failed(err, "nothing was changed; copy the file again, and check --key")
	case errors.Is(err, carry.ErrOther):
		return cli.Failed(err, "nothing was changed; take the bundle of this site")
	case errors.Is(err, carry.ErrOlder):
		return cli.Failed(err, "nothing was changed; take a newer bundle")
	case errors.Is(err, carry.ErrDiverged):
		return cli.Failed(err, "nothing was changed; only bundles may change these repositories: move the branch back, or use another repository")
	}
	return err
}

func (c *bundleApplyCommand) show(w io.Writer, r *bundleApplied) error {
	if r.Already {
		fmt.Fprintf(w, "%s of %s has this bundle already, at %s\n", terminal.Printable(r.ClusterType), terminal.Printable(r.Environment), terminal.Short(r.Commit))
		return nil
	}
	for _, m := range r.Moved {
		from := "new"
		if m.From != "" {
			from = terminal.Short(m.From)
		}
		fmt.Fprintf(w, "%s  %s  %s -> %s\n", terminal.Printable(m.Repository), terminal.Printable(m.Name), from, terminal.Short(m.To))
	}
	fmt.Fprintf(w, "%s and %s are in the registry\n", terminal.Count(r.Images, "image"), terminal.Count(r.Charts, "chart"))
	for _, x := range r.Missing {
		fmt.Fprintf(w, "not in the bundle: %s %s: %s\n", terminal.Printable(x.Kind), terminal.Printable(x.Name), terminal.Printable(x.Reason))
	}
	fmt.Fprintf(w, "applied for %s of %s at %s; clusters report with kalypso cluster report\n", terminal.Printable(r.ClusterType), terminal.Printable(r.Environment), terminal.Short(r.Commit))
	return nil
}
