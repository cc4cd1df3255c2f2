package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// appPublishCommand is "kalypso app publish".
type appPublishCommand struct {
	t       *terminal.Terminal
	app     appFlags
	output  *cli.Output
	to      string
	tags    []string
	keyFile string
	// gitops and config are commits; empty for the heads of their branches.
	gitops, config string
}

// appPublished is the result of the command.
type appPublished struct {
	// Artifact is the reference with the digest of the manifest, Version the digest of the descriptor.
	Artifact string   `json:"artifact"`
	Version  string   `json:"version"`
	Tags     []string `json:"tags"`
	// New is false if the registry had the version already, and Unchanged reports that the merged commit changed nothing in it.
	New        bool                 `json:"new"`
	Unchanged  bool                 `json:"unchanged,omitempty"`
	Signed     bool                 `json:"signed"`
	Descriptor *solution.Descriptor `json:"descriptor"`
}

func newAppPublish(t *terminal.Terminal) *cobra.Command {
	c := &appPublishCommand{t: t}
	cmd := &cobra.Command{
		Use:   "publish -e ENVIRONMENT --to oci://REGISTRY/REPOSITORY",
		Short: "Publish what a merged commit rendered as an immutable version in a registry",
		Long: `Publish what a merged commit of the GitOps repository rendered as a solution version: an OCI artifact with the manifests and values of all
targets, and a descriptor with the commits that they were made from. Flux and Argo CD read it as it is; a target is a path in it.

    merged commit ─► rebuilt from its inputs, and compared ─► artifact ─► tags ENVIRONMENT-COMMIT and ENVIRONMENT ─► attestation

The same inputs make the same version, so that publishing it again changes nothing. A tag of a version is never moved to another one; only
the tag of the environment moves. A commit with files that its inputs do not render is not published.
With --key, sign which commits it was made from. The key is an ed25519 key, created with "openssl genpkey -algorithm ed25519".
Registries are used with the credentials of "docker login".`,
		Example: `  kalypso app publish -e dev --to oci://registry.example.com/acme/hello-world-app
  kalypso app publish -e prod --to oci://registry.example.com/acme/hello-world-app --tag 1.4.0 --key key.pem
  kalypso app publish -e dev --to ./versions --gitops-commit 3f2a9c1`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(appPublished{})
	flags := cmd.Flags()
	flags.StringVar(&c.to, "to", "", "where to: `oci://REGISTRY/REPOSITORY`, or a folder for an OCI image layout")
	flags.StringArrayVar(&c.tags, "tag", nil, "also give the version this `tag`, which is immutable; may be repeated")
	flags.StringVar(&c.keyFile, "key", "", "sign the version with the private key in this `file`")
	flags.StringVar(&c.gitops, "gitops-commit", "", "the merged `commit` of the GitOps branch (default: its head, which also gets the environment's tag)")
	flags.StringVar(&c.config, "config-commit", "", "the `commit` of the configuration that was merged (default: what the merged commit names)")
	return cmd
}

func (c *appPublishCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.to == "" {
		return cli.Usage(cmd, "where to? use --to oci://REGISTRY/REPOSITORY, or a folder")
	}
	to, err := registry.Parse(c.to)
	if err != nil {
		return cli.Usage(cmd, "--to %s: %v", c.to, err)
	}
	if to.Tag != "" || to.Digest != "" {
		return cli.Usage(cmd, "--to is a repository without a tag; add tags with --tag")
	}
	release := registry.Release{Tags: c.tags, Latest: c.gitops == ""}
	if c.keyFile != "" {
		text, err := secretfile.Read(c.keyFile)
		if err == nil {
			release.Key, err = hub.ParseReportKey(text)
		}
		if err != nil {
			return cli.Failed(fmt.Errorf("read --key: %w", err), "")
		}
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.checkTags(cmd.Context(), s); err != nil {
		return err
	}
	r, err := c.publish(cmd.Context(), s, to, release)
	if err != nil {
		return err
	}
	s.progress.End()
	return c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) })
}

// checkTags refuses tags that are names of environments: each is moved to the newest version of its environment, and others never move.
func (c *appPublishCommand) checkTags(ctx context.Context, s *appSession) error {
	if len(c.tags) == 0 {
		return nil
	}
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return err
	}
	for _, tag := range c.tags {
		if slices.Contains(a.Environments(), tag) {
			return cli.Failed(fmt.Errorf("--tag %s is the tag of the environment %s, which moves to its newest version", tag, tag), "name another tag, such as a version")
		}
	}
	return nil
}

func (c *appPublishCommand) publish(ctx context.Context, s *appSession, to registry.Reference, release registry.Release) (*appPublished, error) {
	s.request.GitOpsCommit, s.request.ConfigCommit = c.gitops, c.config
	v, err := s.versions().Merged(ctx, deliver.VersionRequest{Request: s.request, Environment: c.app.environment})
	if err != nil {
		return nil, err
	}
	s.progress.Say("publishing to %s", to)
	store, err := openStore(c.t, to, true)
	if err != nil {
		return nil, err
	}
	released, err := store.Release(ctx, v, release)
	if err != nil {
		return nil, err
	}
	d := released.Stored.Descriptor
	return &appPublished{
		Artifact: to.At(released.Stored.Artifact).String(), Version: d.Digest(), Tags: released.Tags, New: released.New, Unchanged: released.Unchanged,
		Signed: release.Key != nil, Descriptor: &d,
	}, nil
}

// versions returns what makes solution versions in a session.
func (s *appSession) versions() *deliver.Versions {
	return &deliver.Versions{
		Drafter: *s.drafter, Messages: repository.NewDeliveryReader(s.client), Renderer: solution.Renderer{Name: "kalypso", Version: cli.Version()},
	}
}

// openStore opens a registry with the user's credentials, or a folder.
func openStore(t *terminal.Terminal, at registry.Reference, create bool) (*registry.Store, error) {
	client, err := remote.NewUserClient(func(name string) string { return t.Env[name] })
	if err != nil {
		return nil, err
	}
	client.PlainHTTP = isLoopback
	return registry.Open(client, at, create)
}

// keyOf reads a public key.
func keyOf(file string) (ed25519.PublicKey, error) {
	text, err := secretfile.Read(file)
	if err != nil {
		return nil, err
	}
	return hub.ParseReportPublicKey(text)
}

func (c *appPublishCommand) show(w io.Writer, r *appPublished) error {
	showVersion(w, r.Descriptor)
	switch {
	case r.Unchanged:
		fmt.Fprintf(w, "unchanged: the merged commit has the files of the published version\n")
	case !r.New:
		fmt.Fprintf(w, "published already\n")
	default:
		fmt.Fprintf(w, "published\n")
	}
	fmt.Fprintf(w, "  %s\n  tags %s\n", terminal.Printable(r.Artifact), terminal.Printable(strings.Join(r.Tags, ", ")))
	if r.Signed {
		fmt.Fprintln(w, "  signed")
	}
	return nil
}

// showVersion shows what a version is, and what it was made from.
func showVersion(w io.Writer, d *solution.Descriptor) {
	fmt.Fprintf(w, "%s for %s", terminal.Printable(d.Application), terminal.Printable(d.Environment))
	if d.Release != "" {
		fmt.Fprintf(w, ", %s", terminal.Printable(d.Release))
	}
	refused, warned := 0, 0
	for _, f := range d.Checks.Findings {
		if f.Level == check.Refuse {
			refused++
		} else {
			warned++
		}
	}
	fmt.Fprintf(w, "\n  version  %s\n", d.Digest())
	inputs := []struct {
		name string
		*solution.Input
	}{{"source", &d.Inputs.Source}, {"config", d.Inputs.Config}, {"gitops", &d.Inputs.GitOps}}
	for _, i := range inputs {
		if i.Input != nil {
			fmt.Fprintf(w, "  %s   %s of branch %s of %s\n", i.name, terminal.Short(i.Commit), terminal.Printable(i.Branch), terminal.Printable(i.Repository))
		}
	}
	fmt.Fprintf(w, "  content  %s, %s, %d bytes\n", terminal.Count(len(d.Targets), "target"), terminal.Count(d.Content.Files, "file"), d.Content.Bytes)
	fmt.Fprintf(w, "  checks   %d refused, %s, by the %s rules\n", refused, terminal.Count(warned, "warning"), d.Checks.Policy)
}
