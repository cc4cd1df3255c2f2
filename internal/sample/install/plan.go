package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Plan says what a cluster shall have.
type Plan struct {
	// Sample is the id of the sample, which becomes the value of [Label]. // required
	Sample string
	// ClusterType is what the cluster serves as. // required
	ClusterType string
	// Repository is the URL of the platform GitOps repository, and Branches are followed there, one for each environment. // required
	Repository string
	Branches   []string
	// Token is what the cluster reads private repositories with, as User; without one there is no Secret.
	User  string
	Token secret.Value
}

const (
	// Label is on everything that is installed, with the id of the sample.
	Label = "sample.kalypso.io/id"
	// Secret is the name of the one with which Flux reads repositories.
	Secret = "kalypso-sample"
	// Namespace is that of Flux.
	Namespace = "flux-system"
	// Agent is the service account, and its namespace, whose rights the agent has.
	Agent = "kalypso-agent"
)

// Objects are what a plan means, in the order in which they are applied.
func (p Plan) Objects() ([]*unstructured.Unstructured, error) {
	if p.Sample == "" { // everybody's objects would be its own
		return nil, errors.New("plan what a cluster gets: the sample has no id")
	}
	all, err := agentAccount()
	if err != nil {
		return nil, err
	}
	if !p.Token.IsZero() {
		all = append(all, object("v1", "Secret", Secret, "stringData", map[string]any{"username": p.User, "password": p.Token.Reveal()}))
	}
	for _, branch := range p.Branches {
		name := "kalypso-sample-" + branch
		source := map[string]any{"interval": "10s", "url": p.Repository, "ref": map[string]any{"branch": branch}}
		if !p.Token.IsZero() {
			source["secretRef"] = map[string]any{"name": Secret}
		}
		all = append(all,
			object("source.toolkit.fluxcd.io/v1", "GitRepository", name, "spec", source),
			// The folder is not there before the first pull request is merged: somebody who watches does not want to wait long then.
			object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, "spec", map[string]any{
				"interval": "1m", "retryInterval": "5s", "prune": true, "path": "./" + p.ClusterType,
				"sourceRef": map[string]any{"kind": "GitRepository", "name": name},
			}))
	}
	for _, o := range all {
		o.SetLabels(map[string]string{Label: p.Sample})
	}
	return all, nil
}

func object(apiVersion, kind, name, field string, content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": Namespace, "name": name}, field: content,
	}}
}

// agentAccount is what the agent's own manifests have, but for the agent: a sample's server listens on one machine alone,
// so that the agent runs there as well, with the rights of the account in the cluster.
func agentAccount() ([]*unstructured.Unstructured, error) {
	var kinds []schema.GroupResource
	for _, k := range reconciler.Known() {
		kinds = append(kinds, k.GroupResource())
	}
	text, err := agent.Manifests(agent.Install{Server: &url.URL{Scheme: "https", Host: "nowhere.invalid"}, Cluster: "sample", Image: "none", Kinds: kinds, Namespace: Agent})
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var all []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read the manifests of the agent: %w", err)
		case o.GetKind() != "Deployment":
			all = append(all, o)
		}
	}
}

// Name is how people call an object: "Kustomization flux-system/kalypso-sample-dev".
func Name(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}
