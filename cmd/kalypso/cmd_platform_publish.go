package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// platformPublishCommand is "kalypso platform publish".
type platformPublishCommand struct {
	t       *terminal.Terminal
	source  sourceFlags
	publish publishFlags
	output  *cli.Output
}

func newPlatformPublish(t *terminal.Terminal) *cobra.Command {
	c := &platformPublishCommand{t: t}
	cmd := &cobra.Command{
		Use:   "publish -e ENVIRONMENT",
		Short: "Publish the platform's files of a merged commit as an immutable version in a registry",
		Long: `Publish the platform's files of a merged commit of an environment's GitOps branch: an OCI artifact with the files of all cluster types, and a
descriptor with the commits that they were made from. Flux and Argo CD read it directly; a cluster type is a path in it. "kalypso app publish"
does the same for an application.

    merged commit ─► scheduled again from its inputs, and compared ─► artifact ─► tags ENVIRONMENT-COMMIT and ENVIRONMENT ─► attestation

It is published to the repository that the environment's GitOpsRepo names in "publish", unless --to names another one. The same inputs make
the same version, so publishing it again changes nothing. A commit is not published if it has held assignments, or files that its inputs do not
render. In an environment with rings, the environment's tag is not moved, because it would reach all rings at once.
With --key, sign which commits it was made from. The key is an ed25519 key, created with "openssl genpkey -algorithm ed25519".
Registries are used with the credentials of "docker login".`,
		Example: `  kalypso platform publish -e dev
  kalypso platform publish -e prod --control-plane https://github.com/acme/control-plane --key key.pem
  kalypso platform publish -e dev --to ./versions --gitops-commit 3f2a9c1`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(published{})
	c.publish.bind(cmd, "what the GitOpsRepo says")
	return cmd
}

func (c *platformPublishCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.publish.to != "" {
		if _, err := c.publish.place(cmd, "--to"); err != nil {
			return err
		}
	}
	release, err := c.publish.release()
	if err != nil {
		return err
	}
	s, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := c.version(cmd.Context(), s, release)
	if err != nil {
		return err
	}
	s.progress.End()
	return c.output.Write(c.t.Out, r, func(w io.Writer) error { return r.show(w) })
}

func (c *platformPublishCommand) version(ctx context.Context, s *session, release registry.Release) (*published, error) {
	merged, err := s.versions().Merged(ctx, s.request, c.publish.gitops)
	if err != nil {
		return nil, err
	}
	place := c.publish.to
	if place == "" {
		place = merged.Publish
	}
	if place == "" {
		return nil, cli.Failed(fmt.Errorf("the GitOpsRepo of %s does not say where to publish", c.source.environment),
			"set spec.publish in it, or use --to oci://REGISTRY/REPOSITORY")
	}
	to, err := registry.Parse(place)
	if err != nil {
		return nil, fmt.Errorf("publish to %s: %w", place, err)
	}
	release.Latest = release.Latest && !merged.Rings
	s.progress.Say("publishing to %s", to)
	return publishVersion(ctx, c.t, merged.Version, to, release)
}

// versions returns what makes solution versions of the platform in a session.
func (s *session) versions() *schedule.Versions {
	return &schedule.Versions{
		Drafter: *s.drafter, Messages: repository.NewReader(s.client), Renderer: solution.Renderer{Name: "kalypso", Version: cli.Version()},
	}
}
