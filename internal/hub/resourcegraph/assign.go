package resourcegraph

import (
	"fmt"
	"maps"
	"path"
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Problem is a reason why something that Azure has is not reported.
type Problem struct {
	// Resource is the ID of a resource in lower case; empty if unknown.
	Resource string
	// Text says what is wrong; without a full stop.
	Text string
}

// String returns the problem with its resource.
func (p Problem) String() string {
	if p.Resource == "" {
		return p.Text
	}
	return p.Resource + ": " + p.Text
}

// Assigned are the reports of a registered cluster.
type Assigned struct {
	Cluster string
	// Reports may be of several configurations, each with its own time.
	Reports []hub.Report
}

// Assign finds the registered clusters of configurations, in the order of their names. Named are the clusters of resource IDs, in lower case.
// Without a name, it is the registered cluster with the name of the resource, if only one resource has it.
//
// What two configurations report about one object is not reported: one of the two is wrong.
func Assign(configurations []Configuration, clusters []ledger.Cluster, named map[string]string) ([]Assigned, []Problem) {
	var problems []Problem
	registered := map[string]*ledger.Cluster{}
	for i := range clusters {
		if c := &clusters[i]; c.Registered && !c.Registration.Revoked {
			registered[c.Name] = c
		}
	}
	of := map[string][]*Configuration{} // by resource
	for i := range configurations {
		c := &configurations[i]
		of[c.Cluster] = append(of[c.Cluster], c)
	}
	reserved := map[string]bool{} // clusters whose resource is configured
	for _, name := range named {
		reserved[name] = true
	}
	resources := map[string][]string{} // by cluster
	for _, resource := range slices.Sorted(maps.Keys(of)) {
		name, ok := named[resource]
		if !ok {
			name = path.Base(resource)
		}
		switch c := registered[name]; {
		case c == nil && ok:
			problems = append(problems, Problem{resource, fmt.Sprintf("cluster %q, which the configuration names, is not registered", name)})
		case !ok && reserved[name]:
			problems = append(problems, Problem{resource, fmt.Sprintf("the configuration names another resource for cluster %q", name)})
		case c == nil:
			problems = append(problems, Problem{resource, "no registered cluster has its name: register one, or name it in resourceGraph.clusters"})
		case c.Registration.ReportedBy != "":
			problems = append(problems, Problem{resource, fmt.Sprintf("cluster %q is registered as reported by %q", name, c.Registration.ReportedBy)})
		default:
			resources[name] = append(resources[name], resource)
		}
	}
	var all []Assigned
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if n := len(resources[name]); n > 1 {
			for _, resource := range resources[name] {
				problems = append(problems, Problem{resource, fmt.Sprintf("%d resources have the name of cluster %q: name its resource in resourceGraph.clusters", n, name)})
			}
			continue
		}
		a, found := assigned(name, of[resources[name][0]])
		problems = append(problems, found...)
		all = append(all, a)
	}
	return all, problems
}

// assigned returns the reports of the configurations of one cluster.
func assigned(cluster string, of []*Configuration) (Assigned, []Problem) {
	a := Assigned{Cluster: cluster}
	var problems []Problem
	count := map[hub.ReconcilerRef]int{}
	for _, c := range of {
		reports, found := c.Reports()
		problems = append(problems, found...)
		a.Reports = append(a.Reports, reports...)
		for i := range reports {
			if count[reports[i].Reconciler()]++; count[reports[i].Reconciler()] == 2 {
				ref := reports[i].Reconciler()
				problems = append(problems, Problem{c.ID, fmt.Sprintf("%s %s/%s is in another configuration, too; it is not reported", ref.Kind, ref.Namespace, ref.Name)})
			}
		}
	}
	a.Reports = slices.DeleteFunc(a.Reports, func(r hub.Report) bool { return count[r.Reconciler()] > 1 })
	return a, problems
}
