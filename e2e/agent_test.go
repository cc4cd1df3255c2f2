package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// agentNamespace is where the manifests of the agent put it, and agentAccount whose rights they give it.
const agentNamespace, agentAccount = "kalypso-agent", "kalypso-agent"

// agent is the program kalypso-agent of a cluster, with the rights that its manifests give it. There is no node to run its pod,
// so it runs beside the cluster.
type agent struct {
	*harness.Process
	cluster *harness.Cluster // as the agent sees it
	// credential is the file with which it shows the server who it is.
	credential string
	run        func() (*harness.Process, error)
}

// register makes a cluster a member of environments, installs what comes with that, and starts the agent.
func (s *server) register(t *testing.T, c *harness.Cluster, environments ...string) *agent {
	t.Helper()
	return s.registerWith(t, c, nil, environments...)
}

// registerWith registers a cluster with more arguments.
func (s *server) registerWith(t *testing.T, c *harness.Cluster, more []string, environments ...string) *agent {
	t.Helper()
	folder := t.TempDir()
	a := &agent{credential: filepath.Join(folder, "token")}
	args := []string{"cluster", "register", c.Name, "--credential", a.credential, "--manifests", "--image", "kalypso.example/kalypso-agent:e2e"}
	args = append(args, more...)
	for _, environment := range environments {
		args = append(args, "--member", environment+"/"+c.Name)
	}
	objects, err := harness.Documents(s.ask(t, 0, args...))
	must(t, err)
	must(t, c.Apply(t.Context(), objects...))
	t.Cleanup(func() { must(t, c.Delete(context.Background(), objects...)) })
	a.cluster, err = c.As(t.Context(), agentNamespace, agentAccount)
	must(t, err)
	command := append(containerArgs(t, objects, folder), "--kubeconfig", a.cluster.Kubeconfig(), "--interval", "2s")
	a.run = func() (*harness.Process, error) {
		return kalypso.Agent().With("GOMEMLIMIT=64MiB").Start("agent-"+c.Name, command...)
	}
	a.start(t)
	return a
}

// start starts the agent, for the first time or again.
func (a *agent) start(t *testing.T) {
	t.Helper()
	var err error
	a.Process, err = a.run()
	must(t, err)
}

// containerArgs are the arguments of the one container that the manifests have, with its files in a folder.
func containerArgs(t *testing.T, objects []*unstructured.Unstructured, folder string) []string {
	t.Helper()
	for _, o := range objects {
		if key := field(o, "data", "server.pem"); key != "" {
			must(t, os.WriteFile(filepath.Join(folder, "server.pem"), []byte(key), 0o600))
		}
	}
	for _, o := range objects {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if len(containers) != 1 {
			continue
		}
		args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		must(t, err)
		files := strings.NewReplacer("/var/run/secrets/kalypso/token", filepath.Join(folder, "token"), "/var/lib/kalypso", filepath.Join(folder, "state"),
			"/etc/kalypso/server.pem", filepath.Join(folder, "server.pem"))
		for i := range args {
			args[i] = files.Replace(args[i])
		}
		return args
	}
	t.Fatal("the manifests have no container")
	return nil
}

// wantReadOnly wants an agent to read what it reports on, and to have no other rights: not to change that, and not to read secrets.
func (a *agent) wantReadOnly(t *testing.T) {
	t.Helper()
	_, err := a.cluster.List(t.Context(), harness.Kustomizations)
	must(t, err)
	if _, err := a.cluster.List(t.Context(), harness.Secrets); !apierrors.IsForbidden(err) {
		t.Errorf("the agent of %s lists secrets: %v", a.cluster.Name, err)
	}
	if err := a.cluster.Check(t.Context(), harness.Namespace("of-the-agent")); !apierrors.IsForbidden(err) {
		t.Errorf("the agent of %s writes: %v", a.cluster.Name, err)
	}
}

// wantDiscreetLog wants the credential of the cluster to be nowhere in what its agent wrote.
func (a *agent) wantDiscreetLog(t *testing.T) {
	t.Helper()
	log, err := a.Log()
	must(t, err)
	credential, err := os.ReadFile(a.credential)
	must(t, err)
	if strings.Contains(log, strings.TrimSpace(string(credential))) {
		t.Errorf("the credential of %s is in its agent's log", a.cluster.Name)
	}
}
