package harness

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var (
	//go:embed rancher.yaml
	rancherObjects string
	//go:embed rancher_kinds.yaml
	rancherCluster string
)

// RancherNamespace is where a cluster has the GitRepos that are only for itself, by Fleet's convention; templates follow it.
const RancherNamespace = "fleet-local"

// rancherSystem is the namespace of Fleet's own settings.
const rancherSystem = "cattle-fleet-system"

// Kinds of Rancher Fleet.
var (
	GitRepos          = schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "gitrepos"}
	Bundles           = schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "bundles"}
	BundleDeployments = schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "bundledeployments"}
	rancherClusters   = schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "clusters"}
)

// RBAC returns the kind of a resource of access control, such as "rolebindings".
func RBAC(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
}

// GitRepo is what the cluster itself follows with Rancher Fleet.
func GitRepo(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": GitRepos.GroupVersion().String(), "kind": "GitRepo", "metadata": map[string]any{"name": name, "namespace": RancherNamespace}, "spec": spec,
	}}
}

// RancherCredential is a Secret with an account's token, as GitRepos want it.
func RancherCredential(name string, account Account) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": RancherNamespace},
		"type": "kubernetes.io/basic-auth", "stringData": map[string]any{"username": account.Name, "password": account.Token},
	}}
}

// Rancher are the programs of Rancher Fleet on a cluster.
type Rancher struct {
	// Controller makes Bundles and BundleDeployments, Git makes Jobs of GitRepos, and Agent deploys.
	Controller, Git, Agent *Process
}

// AddRancher starts Rancher Fleet on a cluster with a node, which delivers to that cluster itself. Its Jobs run until the context ends.
func (s *Stack) AddRancher(ctx context.Context, c *Cluster) (*Rancher, error) {
	if err := c.Define(ctx, s.Programs.FleetDefinitions); err != nil {
		return nil, err
	}
	if err := s.settleRancher(ctx, c); err != nil {
		return nil, err
	}
	// It creates the tokens of service accounts, with which agents register.
	err := s.startControllerManager(ctx, c.Name+"-account-controllers", c.kubeconfig,
		"serviceaccount-controller,serviceaccount-token-controller",
		"--service-account-private-key-file="+s.keys.private, "--root-ca-file="+c.config.CAFile)
	if err != nil {
		return nil, err
	}
	r := &Rancher{}
	if err := s.startRancher(ctx, c, r); err != nil {
		return nil, err
	}
	go c.runJobs(ctx, s.Lab, s.Programs.FleetCLI, RancherNamespace)
	if r.Agent, err = s.startRancherAgent(ctx, c); err != nil {
		return nil, err
	}
	return r, r.Agent.WaitReady(ctx, func(ctx context.Context) error {
		local, err := c.Get(ctx, rancherClusters, RancherNamespace, "local")
		if err != nil {
			return err
		}
		if seen, _, _ := unstructured.NestedString(local.Object, "status", "agent", "lastSeen"); seen == "" {
			return errors.New("the agent of Rancher Fleet has not registered")
		}
		return nil
	})
}

// settleRancher applies Fleet's settings.
func (s *Stack) settleRancher(ctx context.Context, c *Cluster) error {
	authority, err := os.ReadFile(c.config.CAFile)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"apiServerURL": c.config.Host, "apiServerCA": base64.StdEncoding.EncodeToString(authority),
		"agentTLSMode": "strict", "agentCheckinInterval": "1m", "gitClientTimeout": "30s", "bootstrap": map[string]any{"namespace": "-"},
	})
	if err != nil {
		return err
	}
	objects, err := Documents(rancherObjects)
	if err != nil {
		return err
	}
	kinds, err := Documents(rancherCluster)
	if err != nil {
		return err
	}
	objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "fleet-controller", "namespace": rancherSystem},
		"data": map[string]any{"config": string(config)},
	}})
	return c.Apply(ctx, append(objects, kinds...)...)
}

// startRancher starts Fleet's three controllers.
func (s *Stack) startRancher(ctx context.Context, c *Cluster, r *Rancher) (err error) {
	at, err := s.ports.take(2)
	if err != nil {
		return err
	}
	r.Controller, err = s.startFleetProgram(c, "fleetcontroller", s.Programs.FleetController,
		[]string{"--leader-elect=false", "--disable-metrics"}, "FLEET_HEALTHPROBE_BIND_ADDRESS="+at[0])
	if err != nil {
		return err
	}
	if err := r.Controller.WaitReady(ctx, answers("http://"+at[0]+"/readyz", "")); err != nil {
		return err
	}
	_, err = s.startFleetProgram(c, "fleet-agentmanagement", s.Programs.FleetController,
		[]string{"agentmanagement", "--disable-bootstrap", "--leader-elect=false", "--kubeconfig", c.kubeconfig, "--namespace", rancherSystem})
	if err != nil {
		return err
	}
	// It also listens for webhooks, which nothing sends.
	r.Git, err = s.startFleetProgram(c, "fleet-gitjob", s.Programs.FleetController, []string{
		"gitjob", "--leader-elect=false", "--disable-metrics", "--listen", at[1], "--namespace", rancherSystem, "--insecure-skip-host-key-checks",
	})
	return err
}

// startRancherAgent registers the cluster with the token that Fleet made for it, and starts the agent.
func (s *Stack) startRancherAgent(ctx context.Context, c *Cluster) (*Process, error) {
	var values map[string]any
	err := Until(ctx, startTime, func(ctx context.Context) error {
		token, err := c.Get(ctx, Secrets, RancherNamespace, "local")
		if err != nil {
			return err
		}
		text, _, _ := unstructured.NestedString(token.Object, "data", "values")
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(plain) == 0 {
			return errors.Join(errors.New("the registration token has no values"), err)
		}
		return yaml.Unmarshal(plain, &values)
	})
	if err != nil {
		return nil, fmt.Errorf("register %s with Rancher Fleet: %w", c.Name, err)
	}
	text := map[string]any{}
	for _, key := range []string{"systemRegistrationNamespace", "clusterNamespace", "token", "apiServerURL", "apiServerCA"} {
		text[key] = fmt.Sprint(values[key])
	}
	err = c.Apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "fleet-agent-bootstrap", "namespace": rancherSystem},
		"stringData": text,
	}})
	if err != nil {
		return nil, err
	}
	return s.runRancherAgent(ctx, c)
}

// runRancherAgent starts the agent with what a pod has: for deployments with a service account, the agent only knows the address
// https://kubernetes.default and the files of a pod's own account.
func (s *Stack) runRancherAgent(ctx context.Context, c *Cluster) (*Process, error) {
	as, err := c.As(ctx, rancherSystem, "fleet-agent")
	if err != nil {
		return nil, err
	}
	files, err := s.Lab.Folder(c.Name+"-fleetagent", "account")
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.config.CAFile)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(files, "ca.crt"), authority, 0o600),
		os.WriteFile(filepath.Join(files, "token"), []byte(as.config.BearerToken), 0o600),
	)
	if err != nil {
		return nil, err
	}
	at, err := s.ports.take(3)
	if err != nil {
		return nil, err
	}
	if err := serveKubernetes(ctx, at[2], strings.TrimPrefix(c.config.Host, "https://")); err != nil {
		return nil, err
	}
	const mounted = "/run/secrets/kubernetes.io/serviceaccount"
	return s.startFleetProgram(as, "fleetagent", "unshare", []string{
		"--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs account /run && mkdir -p " + mounted + ` && cp "$1"/* ` + mounted + ` && shift && exec "$@"`,
		"sh", files, s.Programs.FleetAgent, "--leader-elect=false",
	},
		"HTTPS_PROXY=http://"+at[2], "POD_NAME=fleet-agent", "CHECKIN_INTERVAL=10s", "AGENT_SCOPE="+rancherSystem, "FLEET_AGENT_PPROF_DISABLED=true",
		"FLEET_AGENT_METRICS_BIND_ADDRESS="+at[0], "FLEET_AGENT_PROBE_BIND_ADDRESS="+at[1])
}

// serveKubernetes serves an HTTP proxy at an address, until the context ends. It connects clients to the API server that asks for
// the name that API servers have in a cluster.
func serveKubernetes(ctx context.Context, at, server string) error {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	proxy := &http.Server{ReadHeaderTimeout: startTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "kubernetes.default:443" {
			http.Error(w, "only the API server is behind this proxy", http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", server)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = to.Close()
			return
		}
		go func() { defer to.Close(); _, _ = io.Copy(to, from) }() // how a connection ends is the business of its ends
		go func() { defer from.Close(); _, _ = io.Copy(from, to) }()
	})}
	go func() { _ = proxy.Serve(listener) }() // until it is closed
	context.AfterFunc(ctx, func() { _ = proxy.Close() })
	return nil
}

func (s *Stack) startFleetProgram(c *Cluster, name, path string, args []string, env ...string) (*Process, error) {
	return s.Lab.Start(Program{
		Name: c.Name + "-" + name, Path: path, Args: args,
		Env: append(env, "KUBECONFIG="+c.kubeconfig, "NAMESPACE="+rancherSystem,
			"CATTLE_ELECTION_LEASE_DURATION=30s", "CATTLE_ELECTION_RETRY_PERIOD=10s", "CATTLE_ELECTION_RENEW_DEADLINE=25s"),
	})
}
