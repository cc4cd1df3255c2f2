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

// Discovery returns what a cluster serves. Results are empty for what it does not serve; that is not an error.
type Discovery interface {
	// Versions returns the versions of an API group, preferred first.
	Versions(ctx context.Context, group string) ([]string, error)
	// Kinds returns the kinds of a version of an API group, by resource.
	Kinds(ctx context.Context, group, version string) (map[string]string, error)
}

// apis queries an API server. Client-go's own discovery imports all types of Kubernetes, which would need more memory than
// the rest of the agent.
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

// get reads a path below /apis. If it does not exist, the answer stays empty.
func (a *apis) get(ctx context.Context, answer any, path ...string) error {
	at := a.server.JoinPath("apis").JoinPath(path...)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil
	default:
		return fmt.Errorf("list the kinds of the cluster: %s answers %s", at.Path, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 8<<20)).Decode(answer); err != nil {
		return fmt.Errorf("list the kinds of the cluster: %s: %w", at.Path, err)
	}
	return nil
}

// remembered asks only once for each version of a group, also if the answer is an error: several kinds have the same group.
type remembered struct {
	Discovery
	asked map[schema.GroupVersion]kindsAnswer
}

type kindsAnswer struct {
	kinds map[string]string
	err   error
}

func remember(d Discovery) *remembered { return &remembered{d, map[schema.GroupVersion]kindsAnswer{}} }

// Kinds implements [Discovery].
func (r *remembered) Kinds(ctx context.Context, group, version string) (map[string]string, error) {
	of := schema.GroupVersion{Group: group, Version: version}
	answer, ok := r.asked[of]
	if !ok {
		answer.kinds, answer.err = r.Discovery.Kinds(ctx, group, version)
		r.asked[of] = answer
	}
	return answer.kinds, answer.err
}

// serving is a kind as a cluster serves it; zero if it does not.
type serving struct {
	resource schema.GroupVersionResource
	kind     string
}

// find returns how a cluster serves a kind.
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
