package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// appPublishCommand is "kalypso app publish".
type appPublishCommand struct {
	t       *terminal.Terminal
	app     appFlags
	output  *cli.Output
	publish publishFlags
	// config is a commit; empty for the head of its branch.
	config string
}

func newAppPublish(t *terminal.Terminal) *cobra.Command {
	c := &appPublishCommand{t: t}
	cmd := &cobra.Command{
		Use:   "publish -e ENVIRONMENT --to oci://REGISTRY/REPOSITORY",
		Short: "Publish what a merged commit rendered as an immutable version in a registry",
		Long: `Publish what a merged commit of the GitOps repository rendered as a solution version: an OCI artifact with the manifests and values of all
targets, and a descriptor with the commits that they were made from. Flux and Argo CD read it directly; a target is a path in it.

    merged commit ─► rebuilt from its inputs, and compared ─► artifact ─► tags ENVIRONMENT-COMMIT and ENVIRONMENT ─► attestation

The same inputs make the same version, so publishing it again changes nothing. A version's tag never moves; only the environment's tag
does. A commit with files that its inputs do not render is not published.
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
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(published{})
	c.publish.bind(cmd, "")
	cmd.Flags().StringVar(&c.config, "config-commit", "", "the `commit` of the configuration that was merged (default: what the merged commit names)")
	return cmd
}

func (c *appPublishCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.publish.to == "" {
		return cli.Usage(cmd, "where to? use --to oci://REGISTRY/REPOSITORY, or a folder")
	}
	to, err := c.publish.place(cmd, "--to")
	if err != nil {
		return err
	}
	release, err := c.publish.release()
	if err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.checkTags(cmd.Context(), s); err != nil {
		return err
	}
	r, err := c.version(cmd.Context(), s, to, release)
	if err != nil {
		return err
	}
	s.progress.End()
	return c.output.Write(c.t.Out, r, func(w io.Writer) error { return r.show(w) })
}

// checkTags refuses tags that are names of environments: each is moved to the newest version of its environment, and others never move.
func (c *appPublishCommand) checkTags(ctx context.Context, s *appSession) error {
	if len(c.publish.tags) == 0 {
		return nil
	}
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return err
	}
	for _, tag := range c.publish.tags {
		if slices.Contains(a.Environments(), tag) {
			return cli.Failed(fmt.Errorf("--tag %s is the tag of the environment %s, which moves to its newest version", tag, tag), "name another tag, such as a version")
		}
	}
	return nil
}

func (c *appPublishCommand) version(ctx context.Context, s *appSession, to registry.Reference, release registry.Release) (*published, error) {
	s.request.GitOpsCommit, s.request.ConfigCommit = c.publish.gitops, c.config
	v, err := s.versions().Merged(ctx, deliver.VersionRequest{Request: s.request, Environment: c.app.environment})
	if err != nil {
		return nil, err
	}
	s.progress.Say("publishing to %s", to)
	return publishVersion(ctx, c.t, v, to, release)
}

// versions returns what makes solution versions in a session.
func (s *appSession) versions() *deliver.Versions {
	return &deliver.Versions{
		Drafter: *s.drafter, Messages: repository.NewDeliveryReader(s.client), Renderer: solution.Renderer{Name: "kalypso", Version: cli.Version()},
	}
}
