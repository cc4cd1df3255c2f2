package reconciler

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Destinations maps destinations of Argo CD Applications to registered clusters. A destination is the name or the URL of a cluster, as
// in spec.destination: https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters
// The empty cluster is the watched one, which always has the names that Argo CD gives to its own cluster.
type Destinations map[string]string

// inCluster are the name and the URL of the cluster in which Argo CD runs.
var inCluster = []string{"in-cluster", "https://kubernetes.default.svc"}

// ParseDestination parses "DESTINATION=CLUSTER", such as "store=store-01" or "https://10.1.2.3:6443=store-01".
func ParseDestination(text string) (destination, cluster string, err error) {
	i := strings.LastIndex(text, "=") // a URL may contain it, the name of a cluster may not
	if i < 1 || !isDNS(text[i+1:]) {
		return "", "", fmt.Errorf("%q is not a destination: want NAME_OR_SERVER=CLUSTER, such as store=store-01", text)
	}
	return server(text[:i]), text[i+1:], nil
}

// server returns the URL of a server, or the name of a cluster, in the spelling of the keys.
func server(destination string) string { return strings.TrimSuffix(destination, "/") }

// clusterOf returns the cluster that the reports of an object are about. An Application of Argo CD may apply its objects to another cluster
// than the one that has it. One without a destination applies nothing, which is a problem of its own cluster.
func (w *Watcher) clusterOf(u *unstructured.Unstructured) (cluster, destination string, known bool) {
	if u.GroupVersionKind().Group != "argoproj.io" || u.GetKind() != applicationKind {
		return "", "", true
	}
	o := object(u.Object)
	name, url := o.text("spec", "destination", "name"), server(o.text("spec", "destination", "server"))
	if name == "" {
		name = url
	}
	if name == "" || w.server != "" && name == w.server {
		return "", name, true
	}
	if cluster, known = w.Destinations[name]; known {
		return cluster, name, true
	}
	for _, own := range inCluster {
		known = known || name == own
	}
	return "", line(redact(name), hub.MaxName), known
}

// others returns an entry for each other cluster of the destinations.
func (d Destinations) others() map[string][]hub.Report {
	all := map[string][]hub.Report{}
	for _, cluster := range d {
		if cluster != "" {
			all[cluster] = nil
		}
	}
	return all
}
