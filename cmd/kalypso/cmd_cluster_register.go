package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// clusterRegisterCommand is "kalypso cluster register".
type clusterRegisterCommand struct {
	t          *terminal.Terminal
	place      backend.Flags
	output     *cli.Output
	members    []string
	labels     map[string]string
	keyFile    string
	credential string
	manifests  manifestFlags
}

func newClusterRegister(t *terminal.Terminal) *cobra.Command {
	c := &clusterRegisterCommand{t: t}
	cmd := &cobra.Command{
		Use:   "register NAME --member ENVIRONMENT/CLUSTERTYPE",
		Short: "Make a cluster a member of environments, and give it a credential",
		Long: `Make a cluster a member of environments, or change what it is a member of. A new cluster gets a credential, with which its agent
reports. It is shown once, or written to a file that only you can read; the ledger has its hash.

With --manifests it prints what installs the agent instead. That has no credential in it, so that it can go into Git:

    kalypso cluster register large-07 --member dev/large --credential large-07.token --manifests --image IMAGE > agent.yaml
    kubectl apply -f agent.yaml
    kubectl -n kalypso-agent create secret generic kalypso-agent-token --from-file=token=large-07.token

A cluster without a connection signs files instead: register the public half of its key with --key.
On a server this takes a token of an admin, or one to join with; see "kalypso token create --role join".`,
		Example: `  kalypso cluster register large-07 --member dev/large --member stage/large --label region=west-us
  kalypso cluster register large-07 --member dev/large --credential large-07.token`,
		Args: cli.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	flags := cmd.Flags()
	flags.StringArrayVar(&c.members, "member", nil, "the `ENVIRONMENT/CLUSTERTYPE` that it serves as; may be repeated")
	flags.StringToStringVar(&c.labels, "label", nil, "a label of the cluster, as `KEY=VALUE`; may be repeated")
	flags.StringVar(&c.keyFile, "key", "", "the `file` with the public key of a cluster without a connection, in PEM form")
	flags.StringVar(&c.credential, "credential", "", "write the credential to this new `file` instead of showing it")
	c.manifests.bind(cmd)
	return cmd
}

func (c *clusterRegisterCommand) run(cmd *cobra.Command, name string) error {
	request, err := c.request(cmd, name)
	if err != nil {
		return err
	}
	install, err := c.manifests.install(cmd, name, c.place.Address(c.t))
	if err != nil {
		return err
	}
	if install != nil && c.credential == "" {
		return cli.Usage(cmd, "--manifests goes with --credential FILE: the manifests may go into Git, and the credential must not")
	}
	file, err := newSecretFile(c.credential)
	if err != nil {
		return err
	}
	var made registered
	err = c.place.WithRegistrar(cmd, c.t, backend.OpenLedger, func(r backend.Registrar) error {
		var err error
		made.Credential, err = r.Register(cmd.Context(), *request)
		return err
	})
	if err != nil {
		return errors.Join(err, file.discard())
	}
	if err := file.keep(&made); err != nil {
		return err
	}
	if install != nil {
		return c.manifests.write(c.t, *install, made)
	}
	return c.output.Write(c.t.Out, made, func(w io.Writer) error { return showRegistered(w, made, "is registered") })
}

func (c *clusterRegisterCommand) request(cmd *cobra.Command, name string) (*api.ClusterRequest, error) {
	members, err := parseMembers(c.members)
	if err != nil {
		return nil, cli.AsUsage(cmd, err)
	}
	if len(members) == 0 {
		return nil, cli.Usage(cmd, "which environment is it for? name it, as in --member dev/large")
	}
	request := &api.ClusterRequest{Name: name, Memberships: members, Labels: c.labels}
	if c.keyFile != "" {
		key, err := os.ReadFile(c.keyFile)
		if err != nil {
			return nil, fmt.Errorf("read --key: %w", err)
		}
		request.PublicKey = string(key)
	}
	return request, nil
}

// parseMembers reads memberships as people type them.
func parseMembers(texts []string) ([]ledger.Membership, error) {
	var members []ledger.Membership
	for _, text := range texts {
		environment, clusterType, ok := strings.Cut(text, "/")
		if !ok || environment == "" || clusterType == "" {
			return nil, fmt.Errorf("--member %q: want ENVIRONMENT/CLUSTERTYPE, such as dev/large", text)
		}
		members = append(members, ledger.Membership{Environment: environment, ClusterType: clusterType})
	}
	return members, nil
}

// registered is what a cluster is from now on. Its credential is shown, or in a file.
type registered struct {
	api.Credential
	File string `json:"credentialFile,omitempty"`
}

// showRegistered says what became of a cluster. The credential stands alone on its line, to be copied.
func showRegistered(w io.Writer, r registered, what string) error {
	fmt.Fprintf(w, "%s %s", terminal.Printable(r.Cluster), what)
	if len(r.Memberships) > 0 {
		fmt.Fprintf(w, " as %s", terminal.Printable(backend.FormatMemberships(r.Memberships)))
	}
	fmt.Fprintln(w)
	switch {
	case r.File != "":
		fmt.Fprintf(w, "its credential is in %s\n", terminal.Printable(r.File))
	case r.Credential.Credential != "":
		fmt.Fprintf(w, "its credential, which is shown only now:\n\n  %s\n\n", terminal.Printable(r.Credential.Credential))
	default:
		_, err := fmt.Fprintf(w, "it keeps the credential that it has; kalypso cluster rotate %s gives it another one\n", terminal.ShellWord(r.Cluster))
		return err
	}
	if r.FluxKey != "" {
		fmt.Fprintf(w, "the key with which its Flux can sign events instead (generic-hmac):\n\n  %s\n\n", terminal.Printable(r.FluxKey))
	}
	_, err := fmt.Fprintln(w, "its agent reads the credential from the file that --token-file names")
	return err
}

// manifestFlags say what installs the agent.
type manifestFlags struct {
	wanted bool
	image  string
	server string
	watch  []string
}

func (f *manifestFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.wanted, "manifests", false, "print what installs the agent in the cluster, as YAML")
	flags.StringVar(&f.image, "image", "", "with --manifests: the `image` with the kalypso program, best with its digest")
	flags.StringVar(&f.server, "agent-server", "", "with --manifests: the `URL` at which the cluster reaches the server (default: that of --server)")
	flags.StringArrayVar(&f.watch, "watch", nil, "with --manifests: report on a further kind, as `GROUP/RESOURCE`; may be repeated")
}

// install says how the agent is to run; nil when nobody asked for that. Mistakes are found before anything is registered.
func (f *manifestFlags) install(cmd *cobra.Command, name, server string) (*agent.Install, error) {
	if !f.wanted {
		if f.image != "" || f.server != "" || len(f.watch) > 0 {
			return nil, cli.Usage(cmd, "--image, --agent-server and --watch go with --manifests")
		}
		return nil, nil
	}
	if f.server != "" {
		server = f.server
	}
	more, err := parseKinds(f.watch)
	switch {
	case err != nil:
		return nil, cli.AsUsage(cmd, err)
	case f.image == "":
		return nil, cli.Usage(cmd, "--manifests goes with --image IMAGE: which image has the kalypso program?")
	case server == "":
		return nil, cli.Usage(cmd, "--manifests goes with --agent-server URL: where does the cluster reach the server?")
	}
	address, err := client.ParseServer(server)
	if err != nil {
		return nil, cli.AsUsage(cmd, err)
	}
	install := &agent.Install{
		Server: address, Cluster: name, Image: f.image,
		Kinds: groupResources(append(reconciler.Known(), more...)), More: groupResources(more),
	}
	if _, err := agent.Manifests(*install); err != nil {
		return nil, cli.AsUsage(cmd, err)
	}
	return install, nil
}

func groupResources(kinds []reconciler.Kind) []schema.GroupResource {
	var all []schema.GroupResource
	for _, k := range kinds {
		all = append(all, k.GroupResource())
	}
	return all
}

// write prints the manifests, and on stderr where the credential goes.
func (f *manifestFlags) write(t *terminal.Terminal, install agent.Install, made registered) error {
	text, err := agent.Manifests(install)
	if err != nil {
		return err
	}
	if _, err := t.Out.Write(text); err != nil {
		return err
	}
	if made.File == "" {
		fmt.Fprintf(t.Err, "%s keeps the credential that it has; kalypso cluster rotate %s gives it another one\n", terminal.Printable(made.Cluster), terminal.ShellWord(made.Cluster))
		return nil
	}
	fmt.Fprintf(t.Err, "the credential is in %s; after the manifests are applied, the agent waits for it:\n", terminal.Printable(made.File))
	fmt.Fprintf(t.Err, "  kubectl -n kalypso-agent create secret generic kalypso-agent-token --from-file=token=%s\n", terminal.ShellWord(made.File))
	return nil
}
