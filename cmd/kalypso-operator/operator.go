package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/operator/tenant"
)

// command has the flags of the operator.
type command struct {
	t              *terminal.Terminal
	kubeconfig     string
	namespaces     []string
	leaseNamespace string
	health         string
	metrics        string
	workers        int
	timeout        time.Duration
	data           string
	maxClones      int64
	allow          []string
	verifyHosts    []string
	settle         time.Duration
	maxAssignments int
}

func newOperator(t *terminal.Terminal) *cobra.Command {
	c := &command{t: t}
	cmd := &cobra.Command{
		Use:   "kalypso-operator",
		Short: "Schedule the control planes that ControlPlane objects describe",
		Long: `Schedule the control planes that ControlPlane objects describe.

    ControlPlane ─► kalypso-operator ─► one pull request for each environment, promoted commits
    Secrets      ─┘                  └─► plans of pull requests, status, events

A ControlPlane names a control plane repository, or lets the objects of its namespace be the documents. The pull requests are those of
"kalypso schedule --pull-request". With a ledger, commits are promoted as by "kalypso promote round", and applications are delivered.
Several replicas elect a leader by a Lease.

A namespace is a tenant: a ControlPlane uses Secrets and objects of its own namespace only, and https URLs, or those of the servers
that --allow lists. Its ledger is a PostgreSQL database on a server that --allow lists.`,
		Example: `  kalypso-operator --lease-namespace kalypso-system --data /var/lib/kalypso
  kalypso-operator --namespace shop --allow https://github.com --allow postgres://db.shop.svc:5432`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "the `file` with the connection to the cluster (default: the cluster it runs in, or kubectl's default)")
	flags.StringSliceVar(&c.namespaces, "namespace", nil, "a `namespace` with ControlPlanes; repeatable (default: all)")
	flags.StringVar(&c.leaseNamespace, "lease-namespace", "", "the `namespace` of the Lease by which replicas elect a leader (default: no election)")
	flags.StringVar(&c.health, "health", "", "the `address` of /healthz and /readyz (default: none)")
	flags.StringVar(&c.metrics, "metrics", "", "the `address` of /metrics (default: none)")
	flags.IntVar(&c.workers, "workers", 4, "the `number` of ControlPlanes that are worked on at the same time; a namespace has at most half of them, and one is for quick namespaces")
	flags.DurationVar(&c.timeout, "timeout", 5*time.Minute, "the `time` that a round of one environment may take")
	flags.StringVar(&c.data, "data", "", "a `folder` for clones of repositories (default: a temporary folder)")
	flags.Int64Var(&c.maxClones, "max-clones", 1<<30, "the `size` of a namespace's clones, in bytes, above which they are removed")
	flags.StringSliceVar(&c.allow, "allow", nil, "a `server` that ControlPlanes may use, such as https://github.com or postgres://db.example.com; repeatable (default: all https URLs, and no database)")
	flags.StringSliceVar(&c.verifyHosts, "verify-host", nil, "a private `host` that verifications may send requests to, and that charts may be read from; repeatable (default: public hosts only)")
	flags.DurationVar(&c.settle, "settle", time.Minute, "how `long` after a push the checks of others may take to appear")
	flags.IntVar(&c.maxAssignments, "max-assignments", 200, "the `number` of assignments of an environment above which no Assignment objects are written")
	return cmd
}

func (c *command) run(cmd *cobra.Command) error {
	allowed, err := tenant.ParseAllowed(c.allow)
	switch {
	case err != nil:
		return cli.Usage(cmd, "--allow %v", err)
	case c.workers < 1 || c.maxAssignments < 1 || c.maxClones < 1:
		return cli.Usage(cmd, "--workers, --max-assignments and --max-clones are at least 1")
	case c.timeout < time.Second || c.settle < 0:
		return cli.Usage(cmd, "--timeout is at least a second, and --settle is not negative")
	}
	log, err := cli.NewLogger(c.t, "", "")
	if err != nil {
		return err
	}
	config, err := reconciler.Config(c.kubeconfig, "", "kalypso-operator/"+cli.Version())
	if err != nil {
		return cli.Failed(err, "run it in a cluster, or use --kubeconfig")
	}
	box, err := sandbox.FindBox(c.t.Env)
	if err != nil {
		return err
	}
	data := c.data
	if data == "" {
		if data, err = os.MkdirTemp("", "kalypso-operator-"); err != nil {
			return err
		}
		defer os.RemoveAll(data) //nolint:errcheck // a cache
	}
	tenants := tenant.New(tenant.Options{
		Folder: filepath.Join(data, "git"), MaxClones: c.maxClones, Allowed: allowed, VerifyHosts: c.verifyHosts, Settle: &c.settle, Box: box,
		Version: cli.Version(),
	})
	log.Info("limits", "memory", tenants.Limits(c.t.Env))
	if err := (&sandbox.Runner{}).Probe(cmd.Context()); err != nil {
		log.Warn("processes that render charts could read files and use the network", "reason", err)
	}
	return operator.Run(cmd.Context(), operator.Options{
		Config: config, Log: log, Namespaces: c.namespaces, LeaseNamespace: c.leaseNamespace, Health: c.health, Metrics: c.metrics,
		Workers: c.workers, Timeout: c.timeout, MaxAssignments: c.maxAssignments,
		Tenants: tenants,
	})
}
