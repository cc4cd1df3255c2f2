package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent/manifests"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/clusteragent"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// clusterRegisterCommand is "kalypso cluster register".
type clusterRegisterCommand struct {
	t          *terminal.Terminal
	place      backend.Flags
	output     *cli.Output
	members    []string
	labels     map[string]string
	keyFile    string
	reportedBy string
	credential string
	manifests  manifestFlags
}

func newClusterRegister(t *terminal.Terminal) *cobra.Command {
	c := &clusterRegisterCommand{t: t}
	cmd := &cobra.Command{
		Use:   "register NAME --member ENVIRONMENT/CLUSTERTYPE",
		Short: "Register a cluster and create its credential",
		Long: `Register a cluster as a member of environments, or change its memberships. A new cluster gets a credential for its agent. It is
shown once, or written to a file that only you can read; the ledger stores its hash.

Registering a cluster again replaces its memberships and labels, so name all of them.

With --manifests, print the manifests that install the agent. With --reconciler, also print the manifests that make the cluster pull the folders
of its memberships. They contain no credential and can be committed to Git:

    kalypso cluster register large-07 --member dev/large --credential large-07.token --manifests --image IMAGE --reconciler flux > large-07.yaml
    kubectl apply -f large-07.yaml
    kubectl -n kalypso-agent create secret generic kalypso-agent-token --from-file=token=large-07.token

For a cluster with neither Flux nor Argo CD, --reconciler direct lets the agent apply the folders itself, and gives it the rights for that.

A cluster without a connection signs its reports: register its public key with --key.
If another cluster's Argo CD deploys to this cluster, that cluster's agent reports for both: name it with --reported-by. This cluster then
has no credential, and an earlier credential becomes invalid. To give it its own credential, register it again without the flag.
On a server, this needs the token of an admin, or a join token; see "kalypso token create --role join".`,
		Example: `  kalypso cluster register large-07 --member dev/large --member stage/large --label region=west-us
  kalypso cluster register large-07 --member dev/large --credential large-07.token
  kalypso cluster register store-01 --member dev/store --reported-by hub`,
		Args: cli.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(registered{})
	flags := cmd.Flags()
	flags.StringArrayVar(&c.members, "member", nil, "a membership, as `ENVIRONMENT/CLUSTERTYPE`; may be repeated")
	flags.StringToStringVar(&c.labels, "label", nil, "a label of the cluster, as `KEY=VALUE`; may be repeated")
	flags.StringVar(&c.keyFile, "key", "", "a PEM `file` with the public key of a cluster without a connection")
	flags.StringVar(&c.reportedBy, "reported-by", "", "the registered `cluster` whose agent reports for this one")
	flags.StringVar(&c.credential, "credential", "", "write the credential to a new `file` instead of showing it")
	c.manifests.bind(cmd)
	return cmd
}

func (c *clusterRegisterCommand) run(cmd *cobra.Command, name string) error {
	request, err := c.request(cmd, name)
	if err != nil {
		return err
	}
	if c.reportedBy != "" && (c.credential != "" || c.manifests.wanted || c.keyFile != "") {
		return cli.Usage(cmd, "--reported-by excludes --credential, --key and --manifests: the cluster has no credential and no agent")
	}
	install, err := c.manifests.install(cmd, name, c.place.Address(c.t))
	if err != nil {
		return err
	}
	if install != nil && install.Reconciler == pull.Direct {
		if install.ServerKey, err = c.serverKey(cmd); err != nil {
			return err
		}
	}
	if install != nil && install.Reconciler != "" && install.Reconciler != pull.Direct {
		if install.Pulls, err = c.pulls(cmd, name, request.Memberships); err != nil {
			return err
		}
		if _, err := manifests.Write(*install); err != nil {
			return cli.AsUsage(cmd, err)
		}
	}
	if install != nil && c.credential == "" {
		return cli.Usage(cmd, "--manifests requires --credential FILE, because the credential is not part of the manifests")
	}
	file, err := newSecretFile(c.credential)
	if err != nil {
		return err
	}
	var made registered
	err = c.place.WithRegistrar(cmd, c.t, open.Ledger, func(r backend.Registrar) error {
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

// serverKey returns the public key of the server: that of the file, or the one that the server answers with.
func (c *clusterRegisterCommand) serverKey(cmd *cobra.Command) (string, error) {
	var key api.DeliveryKey
	if file := c.manifests.serverKey; file != "" {
		text, err := secretfile.Read(file)
		if err != nil {
			return "", fmt.Errorf("read --server-key: %w", err)
		}
		key.PublicKey = string(text)
	} else {
		at, err := c.place.Resolve(cmd, c.t)
		if err != nil {
			return "", err
		}
		if at.Server == nil {
			return "", cli.Usage(cmd, "--reconciler %s with a ledger requires --server-key", pull.Direct)
		}
		if key, err = client.Ask[api.DeliveryKey](cmd.Context(), at.Server, "deliveries/key", nil); err != nil {
			return "", backend.Hint(err)
		}
	}
	if _, err := hub.ParseReportPublicKey([]byte(key.PublicKey)); err != nil {
		return "", cli.AsUsage(cmd, fmt.Errorf("the key of the server: %w", err))
	}
	return key.PublicKey, nil
}

// pulls returns the folders of memberships, as the server reads their environments: those of the cluster types, or of the cluster
// if it has one of its own.
func (c *clusterRegisterCommand) pulls(cmd *cobra.Command, name string, members []ledger.Membership) (pulls []manifests.Pull, err error) {
	fleet, err := c.place.Open(cmd, c.t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fleet.Close()) }()
	for _, m := range members {
		e, err := fleet.Environment(cmd.Context(), query.EnvironmentQuery{Name: m.Environment, Cluster: name})
		if err != nil {
			return nil, err
		}
		if e.GitOps == nil || e.GitOps.URL == "" {
			return nil, cli.Failed(fmt.Errorf("the GitOps repository of environment %q is not known", m.Environment),
				"use --server with a server that schedules it, after its first round, or leave out --reconciler")
		}
		follow := manifests.Pull{Source: pull.Source{
			Environment: m.Environment, ClusterType: m.ClusterType, URL: e.GitOps.URL, Branch: e.GitOps.Branch, Path: e.GitOps.Path,
		}}
		if e.Cluster != nil && e.Cluster.ClusterType == m.ClusterType {
			follow.Folder, follow.Rings = e.Cluster.Folder, e.Cluster.Pull != ""
		}
		pulls = append(pulls, follow)
	}
	return pulls, nil
}

func (c *clusterRegisterCommand) request(cmd *cobra.Command, name string) (*ingest.ClusterRequest, error) {
	members, err := parseMembers(c.members)
	if err != nil {
		return nil, cli.AsUsage(cmd, err)
	}
	if len(members) == 0 {
		return nil, cli.Usage(cmd, "no membership given; use --member, for example --member dev/large")
	}
	request := &ingest.ClusterRequest{Name: name, Memberships: members, Labels: c.labels, ReportedBy: c.reportedBy}
	if c.keyFile != "" {
		key, err := secretfile.Read(c.keyFile)
		if err != nil {
			return nil, fmt.Errorf("read --key: %w", err)
		}
		request.PublicKey = string(key)
	}
	return request, nil
}

// parseMembers parses memberships as users type them.
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

// registered is a cluster with its credential, or the file that holds it.
type registered struct {
	api.Credential
	File string `json:"credentialFile,omitempty"`
}

// showRegistered prints the cluster. The credential has its own line, so that it can be copied.
func showRegistered(w io.Writer, r registered, what string) error {
	fmt.Fprintf(w, "%s %s", terminal.Printable(r.Cluster), what)
	if len(r.Memberships) > 0 {
		fmt.Fprintf(w, " as %s", terminal.Printable(backend.FormatMemberships(r.Memberships)))
	}
	fmt.Fprintln(w)
	if len(r.Removed) > 0 {
		fmt.Fprintf(w, "it is no longer %s; to keep a membership, register the cluster with all of them\n", terminal.Printable(backend.FormatMemberships(r.Removed)))
	}
	switch {
	case r.ReportedBy != "":
		by := terminal.Printable(r.ReportedBy)
		_, err := fmt.Fprintf(w, "it is reported by %s: start the agent of %s with --destination NAME=%s, where NAME is the destination in Argo CD\n",
			by, by, terminal.ShellWord(r.Cluster))
		return err
	case r.File != "":
		fmt.Fprintf(w, "credential saved to %s\n", terminal.Printable(r.File))
	case r.Credential.Credential != "":
		fmt.Fprintf(w, "save its credential now, it is not shown again:\n\n  %s\n\n", terminal.Printable(r.Credential.Credential))
	default:
		_, err := fmt.Fprintf(w, "its credential is unchanged; replace it with kalypso cluster rotate %s\n", terminal.ShellWord(r.Cluster))
		return err
	}
	if r.FluxKey != "" {
		fmt.Fprintf(w, "alternatively, the key for Flux to sign events with (generic-hmac):\n\n  %s\n\n", terminal.Printable(r.FluxKey))
	}
	_, err := fmt.Fprintln(w, "the agent reads the credential from the file given with --token-file")
	return err
}

// manifestFlags are the flags of --manifests.
type manifestFlags struct {
	wanted bool
	image  string
	server string
	watch  []string
	// destinations are passed on to the agent.
	destinations []string
	runJobs      bool
	reconciler   string
	gitSecret    string
	serverKey    string
}

func (f *manifestFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.wanted, "manifests", false, "print the manifests that install the agent")
	flags.StringVar(&f.image, "image", "", "with --manifests: an `image` with the program kalypso-agent, preferably with its digest")
	flags.StringVar(&f.server, "agent-server", "", "with --manifests: the server's `URL` as seen from the cluster (default: --server)")
	flags.StringArrayVar(&f.watch, "watch", nil, "with --manifests: also report this kind, as `GROUP/RESOURCE`; may be repeated")
	clusteragent.BindDestinations(cmd, &f.destinations, "with --manifests: ")
	flags.BoolVar(&f.runJobs, "run-jobs", false, "with --manifests: let the agent run the Jobs of verifications")
	flags.StringVar(&f.reconciler, "reconciler", "", "with --manifests: also print the objects by which this `reconciler` pulls: flux, argocd or fleet; direct lets the agent apply them")
	flags.StringVar(&f.serverKey, "server-key", "", "with --reconciler direct: a PEM `file` with the public key of the server (default: asks --server)")
	flags.StringVar(&f.gitSecret, "git-secret", "", "with --reconciler: the `name` of the Secret with the credential for the GitOps repositories")
}

// install returns the agent's configuration; nil without --manifests. It finds mistakes before anything is registered.
func (f *manifestFlags) install(cmd *cobra.Command, name, server string) (*manifests.Config, error) {
	if !f.wanted {
		if f.image != "" || f.server != "" || len(f.watch) > 0 || len(f.destinations) > 0 || f.runJobs || f.reconciler != "" || f.gitSecret != "" || f.serverKey != "" {
			return nil, cli.Usage(cmd, "--image, --agent-server, --watch, --destination, --run-jobs, --reconciler, --server-key and --git-secret require --manifests")
		}
		return nil, nil
	}
	if f.server != "" {
		server = f.server
	}
	more, err := clusteragent.ParseKinds(f.watch)
	if err == nil {
		_, _, err = clusteragent.ParseDestinations(f.destinations, name)
	}
	switch {
	case err != nil:
		return nil, cli.AsUsage(cmd, err)
	case f.serverKey != "" && f.reconciler != pull.Direct:
		return nil, cli.Usage(cmd, "--server-key requires --reconciler %s", pull.Direct)
	case f.image == "":
		return nil, cli.Usage(cmd, "--manifests requires --image, an image with the program kalypso-agent")
	case server == "":
		return nil, cli.Usage(cmd, "--manifests requires --agent-server, the server's URL as seen from the cluster")
	}
	address, err := client.ParseServer(server)
	if err != nil {
		return nil, cli.AsUsage(cmd, err)
	}
	install := &manifests.Config{
		Server: address, Cluster: name, Image: f.image,
		Kinds: append(reconciler.Watched(), groupResources(more)...), More: groupResources(more), Destinations: f.destinations, RunJobs: f.runJobs,
		Explained: reconciler.Explained(), Reconciler: f.reconciler, GitSecret: f.gitSecret,
	}
	if f.reconciler == pull.Direct {
		install.ServerKey = "-" // found later
	}
	if _, err := manifests.Write(*install); err != nil {
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

// write prints the manifests, and on stderr how to create the secret.
func (f *manifestFlags) write(t *terminal.Terminal, install manifests.Config, made registered) error {
	text, err := manifests.Write(install)
	if err != nil {
		return err
	}
	if _, err := t.Out.Write(text); err != nil {
		return err
	}
	if made.File == "" {
		fmt.Fprintf(t.Err, "the credential of %s is unchanged; replace it with kalypso cluster rotate %s\n", terminal.Printable(made.Cluster), terminal.ShellWord(made.Cluster))
		return nil
	}
	fmt.Fprintf(t.Err, "credential saved to %s; after applying the manifests, create the secret:\n", terminal.Printable(made.File))
	fmt.Fprintf(t.Err, "  kubectl -n kalypso-agent create secret generic kalypso-agent-token --from-file=token=%s\n", terminal.ShellWord(made.File))
	return nil
}
