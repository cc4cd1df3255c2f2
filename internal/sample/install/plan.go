package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kalypso-io/kalypso/internal/agent/manifests"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Plan describes what to install on a cluster.
type Plan struct {
	// Sample is the ID of the sample, which becomes the value of [Label]. // required
	Sample string
	// ClusterType is the type of the cluster. // required
	ClusterType string
	// Repository is the URL of the platform GitOps repository, and Branches are its branches, one for each environment. // required
	Repository string
	Branches   []string
	// Token and User are the credentials for private repositories; without a token there is no Secret.
	User  string
	Token secret.Value
}

const (
	// Label is on every installed object, with the ID of the sample.
	Label = "sample.kalypso.io/id"
	// Secret is the name of the Secret with which Flux reads repositories.
	Secret = "kalypso-sample"
	// Namespace is the namespace of Flux.
	Namespace = "flux-system"
	// Agent is the name of the agent's service account and of its namespace.
	Agent = "kalypso-agent"
)

// Objects returns the objects of a plan, in the order in which they are applied.
func (p Plan) Objects() ([]*unstructured.Unstructured, error) {
	if p.Sample == "" { // the label would match objects of other samples
		return nil, errors.New("plan the installation: the sample has no ID")
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
			// The folder does not exist before the first pull request is merged; retry soon after.
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

// agentAccount returns the agent's manifests without the agent itself: a sample's server listens on this machine only,
// so the agent runs here, with the rights of the service account.
func agentAccount() ([]*unstructured.Unstructured, error) {
	text, err := manifests.Write(manifests.Config{
		Server: &url.URL{Scheme: "https", Host: "nowhere.invalid"}, Cluster: "sample", Image: "none", Kinds: reconciler.Watched(),
		Explained: reconciler.Explained(), Namespace: Agent,
	})
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
			return nil, fmt.Errorf("read the agent's manifests: %w", err)
		case o.GetKind() != "Deployment":
			all = append(all, o)
		}
	}
}

// Name returns the kind and name of an object: "Kustomization flux-system/kalypso-sample-dev".
func Name(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}
