package direct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// FieldManager is the field manager with which objects are applied.
const FieldManager = "kalypso-agent"

// AnnotationDelivery is on every object that is applied: namespace and name of its delivery. An object that has another one, or none, is not
// changed: setting it by hand hands an object over.
const AnnotationDelivery = "hub.kalypso.io/delivery"

// Cluster changes objects of a cluster, with the rights of an account.
type Cluster struct {
	config *rest.Config
	http   *http.Client
	server *url.URL

	mu      sync.Mutex
	clients map[string]dynamic.Interface
	// kinds are what the API server serves, by group and version, as far as it was asked.
	kinds map[schema.GroupVersion]map[string]served
}

// served is how a kind is served.
type served struct {
	resource   string
	namespaced bool
}

// requestTimeout bounds one request to the API server.
const requestTimeout = 30 * time.Second

// Connect returns the cluster of a configuration. It sends no requests.
func Connect(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 100, 200 // of each account
	config.Timeout = requestTimeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Cluster{config: config, http: client, server: server, clients: map[string]dynamic.Interface{}, kinds: map[schema.GroupVersion]map[string]served{}}, nil
}

// errNotServed means that the API server does not know a kind.
var errNotServed = errors.New("the cluster does not serve this kind")

// as returns a client with the rights of an account; empty is the agent itself.
func (c *Cluster) as(account string) (dynamic.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.clients[account]; known != nil {
		return known, nil
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = account
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	c.clients[account] = client
	return client, nil
}

// resource returns the client of an object's kind. The error matches errNotServed if the API server does not have the kind.
func (c *Cluster) resource(ctx context.Context, account string, r ref) (dynamic.ResourceInterface, error) {
	kind, err := c.serves(ctx, r.gvk())
	if err != nil {
		return nil, err
	}
	client, err := c.as(account)
	if err != nil {
		return nil, err
	}
	all := client.Resource(r.gvk().GroupVersion().WithResource(kind.resource))
	if !kind.namespaced {
		return all, nil
	}
	return all.Namespace(r.Namespace), nil
}

// serves returns how a kind is served. A kind that is not known is asked for again, because it may have been defined meanwhile. Others do not wait for
// the answer: the API server asks another server for some kinds, which may be away.
func (c *Cluster) serves(ctx context.Context, gvk schema.GroupVersionKind) (served, error) {
	c.mu.Lock()
	found, ok := c.kinds[gvk.GroupVersion()][gvk.Kind]
	c.mu.Unlock()
	if ok {
		return found, nil
	}
	kinds, err := c.discover(ctx, gvk.GroupVersion())
	if err != nil {
		return served{}, err
	}
	c.mu.Lock()
	c.kinds[gvk.GroupVersion()] = kinds
	c.mu.Unlock()
	found, ok = kinds[gvk.Kind]
	if !ok {
		return served{}, fmt.Errorf("%s of %s: %w", gvk.Kind, gvk.GroupVersion(), errNotServed)
	}
	return found, nil
}

// discover lists the kinds of a version. Client-go's own discovery imports all types of Kubernetes.
func (c *Cluster) discover(ctx context.Context, gv schema.GroupVersion) (map[string]served, error) {
	at := c.server.JoinPath("apis", gv.Group, gv.Version)
	if gv.Group == "" {
		at = c.server.JoinPath("api", gv.Version)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return map[string]served{}, nil
	default:
		return nil, fmt.Errorf("list the kinds of the cluster: %s answers %s", at.Path, response.Status)
	}
	var list metav1.APIResourceList
	if err := json.NewDecoder(io.LimitReader(response.Body, 8<<20)).Decode(&list); err != nil {
		return nil, fmt.Errorf("list the kinds of the cluster: %s: %w", at.Path, err)
	}
	kinds := map[string]served{}
	for _, r := range list.APIResources {
		if _, known := kinds[r.Kind]; !known { // the first is the kind itself, the others are parts of it, such as its status
			kinds[r.Kind] = served{r.Name, r.Namespaced}
		}
	}
	return kinds, nil
}

// get returns an object, or nil if it does not exist.
func (c *Cluster) get(ctx context.Context, account string, r ref) (*unstructured.Unstructured, error) {
	resource, err := c.resource(ctx, account, r)
	if errors.Is(err, errNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u, err := resource.Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

// applyAttempts is how often an object is read again because it changed before it was applied.
const applyAttempts = 5

// apply applies an object for a delivery. owners are its ID, and those it had before. It refuses an object that exists and has another owner.
func (c *Cluster) apply(ctx context.Context, account string, owners []string, u *unstructured.Unstructured) error {
	for attempt := 1; ; attempt++ {
		existing, err := c.get(ctx, account, refOf(u))
		if err != nil {
			return err
		}
		err = c.applyOver(ctx, account, owners, existing, u)
		if existing == nil || !apierrors.IsConflict(err) || attempt == applyAttempts {
			return err
		}
	}
}

// applyOver applies an object in the place of the one that was read; nil if there was none. The error is a conflict if that one has changed since: it may
// have another owner now, be removed, or be another object with the same name.
func (c *Cluster) applyOver(ctx context.Context, account string, owners []string, existing, u *unstructured.Unstructured) error {
	u = u.DeepCopy()
	if existing != nil {
		if err := owned(existing, owners); err != nil {
			return err
		}
		if existing.GetDeletionTimestamp() != nil {
			return errors.New("it is being removed")
		}
		// The API server compares both before it changes anything.
		u.SetUID(existing.GetUID())
		u.SetResourceVersion(existing.GetResourceVersion())
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationDelivery] = owners[0]
	u.SetAnnotations(annotations)
	resource, err := c.resource(ctx, account, refOf(u))
	if err != nil {
		return err
	}
	text, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	force := existing != nil // it exists and is ours; a new object that another client creates meanwhile is a conflict
	_, err = resource.Patch(ctx, u.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: FieldManager, Force: &force})
	return err
}

// owned returns an error if an object does not belong to a delivery.
func owned(u *unstructured.Unstructured, owners []string) error {
	delivery, owner := owners[0], u.GetAnnotations()[AnnotationDelivery]
	switch {
	case owner == "":
		found := "it exists and belongs to no delivery"
		if fields := u.GetManagedFields(); len(fields) > 0 {
			found = fmt.Sprintf("it exists and is managed by %.100q", fields[len(fields)-1].Manager)
		}
		return fmt.Errorf("%s: hand it over with kubectl annotate, %s=%s", found, AnnotationDelivery, delivery)
	case slices.Contains(owners, owner):
		return nil
	default:
		return fmt.Errorf("it belongs to the delivery %.300s: hand it over with kubectl annotate --overwrite, %s=%s", owner, AnnotationDelivery, delivery)
	}
}

// remove removes an object that belongs to a delivery. An object that has another owner now stays.
func (c *Cluster) remove(ctx context.Context, account string, owners []string, r ref) error {
	existing, err := c.get(ctx, account, r)
	if err != nil || existing == nil || owned(existing, owners) != nil || existing.GetDeletionTimestamp() != nil {
		return err
	}
	resource, err := c.resource(ctx, account, r)
	if err != nil {
		return err
	}
	uid := existing.GetUID()
	background := metav1.DeletePropagationBackground
	err = resource.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
