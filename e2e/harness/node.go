package harness

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	//go:embed kwok.yaml
	kwokConfiguration string
	//go:embed node.yaml
	nodeObjects string
)

// Crash is an annotation that makes all containers of a pod crash, and lets them become ready again when it is removed.
const Crash = "e2e.kalypso.io/crash"

// Nodes and Pods are on clusters with [Stack.AddNode].
var (
	Nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	Pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// AddNode makes a cluster run pods: Deployments, StatefulSets, DaemonSets and Jobs get pods, an admission policy
// schedules them to one node, and kwok updates their status as a kubelet would. No container runs.
// Images need not exist, and what their tags begin with decides what becomes of the pod:
//
//	:slow   ready after 8 seconds
//	:crash  never ready, waiting because of CrashLoopBackOff
//	other   ready at once; complete at once in a Job
//
// The annotation [Crash] makes a running pod crash.
func (s *Stack) AddNode(ctx context.Context, c *Cluster) error {
	objects, err := Documents(nodeObjects)
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, objects...); err != nil {
		return err
	}
	err = s.startControllerManager(ctx, c.Name+"-workload-controllers", c.kubeconfig,
		"deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller")
	if err != nil {
		return err
	}
	if err := s.startKwok(ctx, c); err != nil {
		return err
	}
	return Until(ctx, startTime, c.schedules)
}

func (s *Stack) startKwok(ctx context.Context, c *Cluster) error {
	name := c.Name + "-kwok"
	home, err := s.Lab.Folder(name)
	if err != nil {
		return err
	}
	config := filepath.Join(home, "kwok.yaml")
	if err := os.WriteFile(config, []byte(kwokConfiguration), 0o600); err != nil {
		return err
	}
	at, err := s.ports.next()
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		p, err := s.Lab.Start(Program{Name: name, Path: s.Programs.Kwok, Args: []string{
			"--kubeconfig=" + c.kubeconfig, "--config=" + config, "--server-address=" + at, "--node-ip=127.0.0.1",
		}})
		if err != nil {
			return err
		}
		err = p.WaitReady(ctx, answers("http://"+at+"/healthz", ""))
		// Version 0.8.0 can end while it starts, because two of its goroutines register types at the same time.
		if log, _ := p.Log(); err == nil || attempt == 3 || !strings.Contains(log, "concurrent map writes") {
			return err
		}
	}
}

// schedules has no error when the node is ready and new pods are scheduled to it. The API server takes a moment to
// put an admission policy into effect, and a pod that was created before would never run.
func (c *Cluster) schedules(ctx context.Context) error {
	node, err := c.Get(ctx, Nodes, "", "node")
	if err != nil {
		return err
	}
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "try"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "try", "image": "try"}}},
	}}
	made, err := c.client.Resource(Pods).Namespace(metav1.NamespaceDefault).
		Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("try to create a pod on %s: %w", c.Name, err)
	}
	if at, _, _ := unstructured.NestedString(made.Object, "spec", "nodeName"); at != node.GetName() {
		err = errors.New("pods are not scheduled yet")
	}
	return errors.Join(conditionTrue(node, "Ready"), err)
}
