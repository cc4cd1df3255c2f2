package serve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ResourceGraphConfig is a part of Azure whose clusters have the extension microsoft.flux, and so report to Azure Resource Graph. The server
// reads their reports as an application of Microsoft Entra ID that has the role Reader.
type ResourceGraphConfig struct {
	// Name identifies it in messages. Default: azure.
	Name string `json:"name,omitempty"`
	// Subscriptions are the IDs of subscriptions, ManagementGroups those of management groups. One of the two is required.
	Subscriptions    []string `json:"subscriptions,omitempty"`
	ManagementGroups []string `json:"managementGroups,omitempty"`
	// Tenant is the ID of the tenant, Client that of the application. Default: AZURE_TENANT_ID and AZURE_CLIENT_ID.
	Tenant string `json:"tenant,omitempty"`
	Client string `json:"client,omitempty"`
	// SecretFile has the secret of the application, FederatedTokenFile the token of a workload identity. Both are read again for each
	// new access token. Default: the file in AZURE_FEDERATED_TOKEN_FILE.
	SecretFile         string `json:"secretFile,omitempty"`
	FederatedTokenFile string `json:"federatedTokenFile,omitempty"`
	// Clusters are the registered clusters of resource IDs. Default: the cluster with the name of the resource, if only one resource has it.
	Clusters map[string]string `json:"clusters,omitempty"`
	// Endpoint is the address of Azure Resource Manager, for other clouds than the public one. Default: https://management.azure.com.
	Endpoint string `json:"endpoint,omitempty"`
	// Login is the address of Microsoft Entra ID. Default: AZURE_AUTHORITY_HOST, or https://login.microsoftonline.com.
	Login string `json:"login,omitempty"`
	// Interval is how often it is read, at least 15s. Default: 1m.
	Interval metav1.Duration `json:"interval,omitempty"`
}

const (
	// DefaultResourceGraph is the name of a part of Azure without a name.
	DefaultResourceGraph         = "azure"
	defaultResourceGraphInterval = time.Minute
	minResourceGraphInterval     = 15 * time.Second
)

// Title returns the name, or its default.
func (c *ResourceGraphConfig) Title() string { return cmp.Or(c.Name, DefaultResourceGraph) }

// Every returns the interval, or its default.
func (c *ResourceGraphConfig) Every() time.Duration {
	return cmp.Or(c.Interval.Duration, defaultResourceGraphInterval)
}

// Registered returns the registered clusters of resource IDs, which are in lower case.
func (c *ResourceGraphConfig) Registered() map[string]string {
	registered := map[string]string{}
	for id, name := range c.Clusters {
		registered[strings.ToLower(id)] = name
	}
	return registered
}

// CheckResourceGraph returns all errors, joined.
func CheckResourceGraph(all []ResourceGraphConfig) error {
	var problems []error
	names := map[string]bool{}
	for i := range all {
		c := &all[i]
		for _, err := range c.check() {
			problems = append(problems, fmt.Errorf("resourceGraph[%d]: %w", i, err))
		}
		if names[c.Title()] {
			problems = append(problems, fmt.Errorf("resourceGraph[%d]: another one has the name %q; use a different one", i, c.Title()))
		}
		names[c.Title()] = true
	}
	return errors.Join(problems...)
}

var (
	azureID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	groupID = regexp.MustCompile(`^[-_.()A-Za-z0-9]{1,90}$`)
	// azureCluster is the resource ID of a cluster.
	azureCluster = regexp.MustCompile(`^(?i)/subscriptions/[^/\s]+/resourceGroups/[^/\s]+/providers/[^/\s]+/[^/\s]+/[^/\s]+$`)
)

func (c *ResourceGraphConfig) check() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !schedulerName.MatchString(c.Title()) {
		problem("name: %q is not a name of lower-case letters, digits and dashes", c.Name)
	}
	if (len(c.Subscriptions) > 0) == (len(c.ManagementGroups) > 0) {
		problem("want subscriptions or managementGroups")
	}
	for _, id := range c.Subscriptions {
		if !azureID.MatchString(id) {
			problem("subscriptions: %.100q is not the ID of a subscription", id)
		}
	}
	for _, id := range c.ManagementGroups {
		if !groupID.MatchString(id) {
			problem("managementGroups: %.100q is not the ID of a management group", id)
		}
	}
	if c.Tenant != "" && !azureID.MatchString(c.Tenant) {
		problem("tenant: %.100q is not the ID of a tenant", c.Tenant)
	}
	if c.Client != "" && !azureID.MatchString(c.Client) {
		problem("client: %.100q is not the ID of an application", c.Client)
	}
	if c.SecretFile != "" && c.FederatedTokenFile != "" {
		problem("set one of secretFile and federatedTokenFile")
	}
	for name, address := range map[string]string{"endpoint": c.Endpoint, "login": c.Login} {
		if address != "" && !credentialsMayGo(address) {
			problem("%s: want a URL such as https://management.azure.com, without credentials", name)
		}
	}
	if every := c.Every(); every < minResourceGraphInterval {
		problem("interval: %s is less than %s", every, minResourceGraphInterval)
	}
	return append(problems, c.checkClusters()...)
}

func (c *ResourceGraphConfig) checkClusters() (problems []error) {
	ids, taken := map[string]bool{}, map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(c.Clusters)) {
		name, key := c.Clusters[id], strings.ToLower(id)
		switch {
		case !azureCluster.MatchString(id):
			problems = append(problems, fmt.Errorf("clusters: %.200q is not the resource ID of a cluster", id))
		case ids[key]:
			problems = append(problems, fmt.Errorf("clusters: %.200q is there twice; case does not matter", id))
		case len(validation.IsDNS1123Label(name)) > 0:
			problems = append(problems, fmt.Errorf("clusters: %.100q is not the name of a cluster", name))
		case taken[name]:
			problems = append(problems, fmt.Errorf("clusters: two resources stand for the cluster %q", name))
		}
		ids[key], taken[name] = true, true
	}
	return problems
}

// credentialsMayGo reports whether credentials may be sent to an address: by https, or to this machine.
func credentialsMayGo(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && secret.IsLoopback(u.Hostname())
}
