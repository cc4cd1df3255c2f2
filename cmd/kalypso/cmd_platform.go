package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// newPlatform holds the commands about solution versions of the platform.
func newPlatform(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "platform",
		Short: "List, publish and roll back versions of the platform in an environment",
		Long: `List, publish and roll back versions of the platform: the namespaces, quotas, policies and configuration that the control plane renders for an
environment. They are versioned separately, and reach clusters without a new version of an application.

    environment@commit + main@commit ─► pull request ─► merged commit = version of the platform

"kalypso solution" and "kalypso target" do the same for applications.`,
		Example: `  kalypso platform versions -e dev
  kalypso platform rollback -e dev 3f2a9c1 --pull-request
  kalypso platform publish -e dev`,
	})
	cmd.AddCommand(newPlatformVersions(t), newPlatformRollback(t), newPlatformPublish(t))
	return cmd
}
