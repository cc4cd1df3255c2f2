// Package manifests writes the manifests that install the agent on a cluster, and those by which the cluster pulls.
package manifests

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/schedule/pull"
)

// Config configures the manifests.
type Config struct {
	Server  *url.URL // required
	Cluster string   // required, the registered name of the cluster
	Image   string   // required, an image with the program kalypso-agent, preferably with its digest
	// Kinds lists all kinds that the agent watches, including More. Required.
	Kinds []schema.GroupResource
	// More lists the kinds that the agent watches in addition to the known ones.
	More []schema.GroupResource
	// Destinations are values of --destination.
	Destinations []string
	// Explained lists the kinds that the agent reads to explain why objects are not healthy.
	Explained []schema.GroupResource
	// RunJobs lets the agent run the Jobs of verifications, in namespaces that bind it to the ClusterRole kalypso-agent-jobs.
	RunJobs bool
	// ServerKey is the public key of the server as PEM. With it, the agent applies what the server says that the cluster should run.
	ServerKey string
	// Namespace is where the agent runs. Default: kalypso-agent.
	Namespace string
	// Secret names the secret that holds the token, with the key "token". Default: kalypso-agent-token.
	// It is not part of the manifests, so that they can be committed to Git.
	Secret string
	// Reconciler is one of [pull.Reconcilers], or empty, which writes no objects that pull.
	Reconciler string
	// Pulls are the folders that the reconciler follows.
	Pulls []Pull
	// GitSecret names the Secret with the credential for the GitOps repositories, in the namespace of the objects. Optional.
	GitSecret string
}

// Write returns the YAML with the objects by which the cluster pulls, and that installs the agent: a namespace, a service account with read access to the kinds and
// what explains their health and nothing else, and a deployment that reads the token from a secret.
func Write(i Config) ([]byte, error) {
	if i.Namespace == "" {
		i.Namespace = "kalypso-agent"
	}
	if i.Secret == "" {
		i.Secret = "kalypso-agent-token"
	}
	if err := i.check(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for n, document := range append(i.pulls(), i.documents()...) {
		text, err := yaml.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("write the agent's manifests: %w", err)
		}
		if n > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

func (i *Config) check() error {
	for _, name := range []string{i.Namespace, i.Secret, i.Cluster} {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return fmt.Errorf("%q is not a valid name: %s", name, problems[0])
		}
	}
	if i.Image == "" || strings.ContainsAny(i.Image, " \t\n") {
		return fmt.Errorf("%q is not an image", i.Image)
	}
	if i.Reconciler == pull.Direct && i.ServerKey == "" {
		return fmt.Errorf("without a reconciler, the agent has to apply what the cluster should run, and needs the key of the server")
	}
	return i.checkPulls()
}

// object is a manifest. The types of Kubernetes would write fields that are not set.
type object = map[string]any

func (i *Config) documents() []object {
	labels := object{"app.kubernetes.io/name": agentName}
	meta := func(namespaced bool) object {
		m := object{"name": agentName, "labels": labels}
		if namespaced {
			m["namespace"] = i.Namespace
		}
		return m
	}
	namespace := meta(false)
	namespace["name"] = i.Namespace
	all := []object{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": namespace},
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(true)},
		{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": meta(false), "rules": i.rules()},
		{
			"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": meta(false),
			"roleRef":  object{"apiGroup": rbac, "kind": "ClusterRole", "name": agentName},
			"subjects": []object{{"kind": "ServiceAccount", "name": agentName, "namespace": i.Namespace}},
		},
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(true), "spec": object{
			"replicas": 1,
			// Two agents would report everything twice.
			"strategy": object{"type": "Recreate"},
			"selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": i.pod()},
		}},
	}
	if i.ServerKey != "" {
		all = append(all, i.direct(labels)...)
	}
	if !i.RunJobs {
		return all
	}
	// Not bound here: the templates of assignments bind it in their namespaces.
	return append(all, object{
		"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": object{"name": agentName + "-jobs", "labels": labels},
		"rules": []object{{"apiGroups": []string{"batch"}, "resources": []string{"jobs"}, "verbs": []string{"create", "get"}}},
	})
}

const (
	agentName = "kalypso-agent"
	rbac      = "rbac.authorization.k8s.io"
)

// rules returns one rule for each API group, with read access to its kinds.
func (i *Config) rules() []object {
	resources := map[string][]string{}
	for _, k := range i.Kinds {
		resources[k.Group] = append(resources[k.Group], k.Resource)
	}
	var rules []object
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		slices.Sort(resources[group])
		rules = append(rules, object{"apiGroups": []string{group}, "resources": slices.Compact(resources[group]), "verbs": []string{"get", "list", "watch"}})
	}
	rules = append(rules, i.explainRules()...)
	if !i.RunJobs {
		return rules
	}
	return append(rules,
		object{"apiGroups": []string{""}, "resources": []string{"namespaces"}, "verbs": []string{"list"}},
		object{"apiGroups": []string{"batch"}, "resources": []string{"cronjobs"}, "verbs": []string{"list"}},
		object{"apiGroups": []string{"batch"}, "resources": []string{"jobs"}, "verbs": []string{"get"}})
}

// explainRules lets the agent look up why objects are not healthy. It cannot read ConfigMaps, Secrets and logs.
func (i *Config) explainRules() []object {
	resources := map[string][]string{}
	for _, k := range i.Explained {
		if slices.Contains(i.Kinds, k) {
			continue // they are watched
		}
		resources[k.Group] = append(resources[k.Group], k.Resource)
	}
	var rules []object
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		slices.Sort(resources[group])
		rules = append(rules, object{"apiGroups": []string{group}, "resources": resources[group], "verbs": []string{"get", "list"}})
	}
	return rules
}

// pod returns the pod's spec. The token is a file, because a file can be replaced while the agent runs.
func (i *Config) pod() object {
	const tokens, state, keys = "/var/run/secrets/kalypso", "/var/lib/kalypso", "/etc/kalypso"
	args := []string{"--server=" + i.Server.String(), "--cluster=" + i.Cluster, "--token-file=" + tokens + "/token", "--state-dir=" + state}
	for _, k := range i.More {
		args = append(args, "--watch="+k.Group+"/"+k.Resource)
	}
	for _, d := range i.Destinations {
		args = append(args, "--destination="+d)
	}
	if i.RunJobs {
		args = append(args, "--run-jobs")
	}
	mounts := []object{
		{"name": "token", "mountPath": tokens, "readOnly": true},
		{"name": "state", "mountPath": state},
	}
	volumes := []object{
		{"name": "token", "secret": object{"secretName": i.Secret, "items": []object{{"key": "token", "path": "token"}}}},
		// Survives a restart of the container, not of the pod. The pod loses only reports that were superseded meanwhile.
		{"name": "state", "emptyDir": object{"sizeLimit": "64Mi"}},
	}
	memory, most := "64MiB", "96Mi"
	if i.ServerKey != "" {
		args = append(args, "--apply", "--server-key="+keys+"/server.pem")
		mounts = append(mounts, object{"name": "server-key", "mountPath": keys, "readOnly": true})
		// What was applied must survive the pod: without it, the agent does not know what to remove.
		volumes[1] = object{"name": "state", "persistentVolumeClaim": object{"claimName": agentName}}
		volumes = append(volumes, object{"name": "server-key", "configMap": object{"name": agentName + "-server-key"}})
		memory, most = "160MiB", "224Mi" // the objects of the largest archive that is accepted
	}
	return object{
		"serviceAccountName": agentName,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
			"seccompProfile": object{"type": "RuntimeDefault"},
		},
		"containers": []object{{
			"name":    agentName,
			"image":   i.Image,
			"command": []string{agentName},
			"args":    args,
			// The agent needs 20 MB for 50 reconcilers, 30 MB for 1,000 and 75 MB for 5,000, of which 12 MB are pages of the program. A probe
			// needs 12 MB more for a moment. The memory limit of Go is lower, so that it rather collects garbage more often than is killed.
			"env": []object{{"name": "GOMEMLIMIT", "value": memory}, {"name": "HOME", "value": state}},
			"resources": object{
				"requests": object{"cpu": "10m", "memory": "32Mi"},
				"limits":   object{"memory": most},
			},
			"securityContext": object{
				"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
				"capabilities": object{"drop": []string{"ALL"}},
			},
			// The agent opens no port, so the probe runs the program: seldom, because that is another process.
			"livenessProbe": object{
				"exec":                object{"command": []string{agentName, "--check", "--state-dir=" + state}},
				"initialDelaySeconds": 60, "periodSeconds": 120, "timeoutSeconds": 10, "failureThreshold": 3,
			},
			"volumeMounts": mounts,
		}},
		"volumes": volumes,
	}
}
