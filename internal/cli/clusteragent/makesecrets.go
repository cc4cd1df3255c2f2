package clusteragent

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/agent/secrets"
	"github.com/kalypso-io/kalypso/internal/chart/recipe"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// namespaceFile has the namespace of a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// newMakeSecrets returns the command of the Jobs that make Secrets.
func newMakeSecrets(t *terminal.Terminal, path string) *cobra.Command {
	var text, namespace, kubeconfig string
	cmd := &cobra.Command{
		Use:   "make-secrets --recipe JSON",
		Short: "Make the Secrets of an application once, in its cluster",
		Long: `Make the Secrets of an application once, in its cluster: passwords, certificates and other values that its chart makes up.

A Delivery with "from: Job" in spec.secrets runs it as a Job, with the right to write these Secrets only. Secrets and keys that exist stay as they
are, unless the Delivery rotates them with kalypso app secrets rotate. Values are neither printed nor logged.`,
		Example: "  " + path + ` make-secrets --namespace shop --recipe '{"secrets":[{"name":"db","keys":[{"name":"password","parts":[{"draw":1}]}]}],"draws":[{"function":"randAlphaNum","length":16}]}'`,
		Args:    cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := recipe.Decode(text)
			if err != nil {
				return cli.AsUsage(cmd, err)
			}
			if namespace == "" {
				content, err := os.ReadFile(namespaceFile)
				if err != nil {
					return cli.Failed(errors.New("outside of a pod, there is no default for the namespace"), "use --namespace")
				}
				namespace = strings.TrimSpace(string(content))
			}
			log, err := cli.NewLogger(t, "", "")
			if err != nil {
				return err
			}
			config, err := reconciler.Config(kubeconfig, "", "kalypso-agent/"+cli.Version())
			if err != nil {
				return cli.Failed(err, "run it in a cluster, or use --kubeconfig")
			}
			maker, err := secrets.Connect(config, namespace, log)
			if err != nil {
				return err
			}
			return maker.Make(cmd.Context(), r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&text, "recipe", "", "the `JSON` text that says how the Secrets are made; the Delivery's manifests have it")
	flags.StringVar(&namespace, "namespace", "", "the `namespace` of the Secrets (default: that of the pod)")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "the `file` with the connection to the cluster (default: the cluster it runs in, or kubectl's default)")
	return cmd
}
