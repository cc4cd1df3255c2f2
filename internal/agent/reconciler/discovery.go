package reconciler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Discovery says what a cluster serves. What it does not serve is empty, and no error.
type Discovery interface {
	// Versions returns the versions of an API group, the preferred one first.
	Versions(ctx context.Context, group string) ([]string, error)
	// Kinds returns the kinds of a version of an API group by their resources.
	Kinds(ctx context.Context, group, version string) (map[string]string, error)
}

// apis asks an API server. Client-go's own discovery brings every type of Kubernetes along,
// which would cost more memory than all the rest of the agent.
type apis struct {
	client *http.Client
	server *url.URL
}

// NewDiscovery returns the discovery of an API server.
func NewDiscovery(config *rest.Config) (Discovery, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &apis{client, server}, nil
}

func (a *apis) Versions(ctx context.Context, group string) ([]string, error) {
	var answer metav1.APIGroup
	if err := a.get(ctx, &answer, group); err != nil {
		return nil, err
	}
	var versions []string
	if preferred := answer.PreferredVersion.Version; preferred != "" {
		versions = append(versions, preferred)
	}
	for _, v := range answer.Versions {
		versions = append(versions, v.Version)
	}
	return versions, nil
}

func (a *apis) Kinds(ctx context.Context, group, version string) (map[string]string, error) {
	var answer metav1.APIResourceList
	if err := a.get(ctx, &answer, group, version); err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for _, r := range answer.APIResources {
		kinds[r.Name] = r.Kind
	}
	return kinds, nil
}

// get reads what the API server says below /apis. What is not there leaves the answer empty.
func (a *apis) get(ctx context.Context, answer any, path ...string) error {
	at := a.server.JoinPath("apis").JoinPath(path...)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the cluster what it serves: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil
	default:
		return fmt.Errorf("ask the cluster what it serves: %s answers %s", at.Path, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 8<<20)).Decode(answer); err != nil {
		return fmt.Errorf("ask the cluster what it serves: %s: %w", at.Path, err)
	}
	return nil
}

// serving is a kind as a cluster serves it; zero when it does not.
type serving struct {
	resource schema.GroupVersionResource
	kind     string
}

// find finds how a cluster serves a kind.
func find(ctx context.Context, d Discovery, k Kind) (serving, error) {
	versions := k.Versions
	if len(versions) == 0 {
		var err error
		if versions, err = d.Versions(ctx, k.Group); err != nil {
			return serving{}, err
		}
	}
	for _, version := range versions {
		kinds, err := d.Kinds(ctx, k.Group, version)
		if err != nil {
			return serving{}, err
		}
		if kind := kinds[k.Resource]; kind != "" {
			return serving{k.GroupResource().WithVersion(version), kind}, nil
		}
	}
	return serving{}, nil
}
