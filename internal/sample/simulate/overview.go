package simulate

import (
	"cmp"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Overview is the state of a simulated cluster.
type Overview struct {
	Name        string           `json:"name"`
	Memberships []hub.Membership `json:"memberships"`
	Reconciler  Reconciler       `json:"reconciler"`
	Behaviour   Behaviour        `json:"behaviour"`
	// Reconcilers are what it would report now, sorted by kind, namespace and name, without times.
	Reconcilers []hub.Report `json:"reconcilers"`
	// Objects is the number of objects in the cluster.
	Objects int `json:"objects"`
	// Reported is when the server accepted the last batch; Problem says why it refuses the next one.
	Reported time.Time `json:"reported,omitzero"`
	Problem  string    `json:"problem,omitempty"`
	// Waiting is the number of reports to send.
	Waiting int `json:"waiting,omitempty"`
}

// Ready returns the number of ready reconcilers.
func (o Overview) Ready() int { return o.count(hub.StateReady) }

// Failed returns the number of failed reconcilers.
func (o Overview) Failed() int { return o.count(hub.StateFailed) }

func (o Overview) count(state hub.State) int {
	n := 0
	for _, r := range o.Reconcilers {
		if r.State == state {
			n++
		}
	}
	return n
}

// Clusters returns the state of all clusters, by name.
func (s *Simulation) Clusters() []Overview {
	machines := s.all()
	all := make([]Overview, len(machines))
	for i, m := range machines {
		all[i] = m.overview()
	}
	return all
}

// Cluster returns the state of a cluster. An unknown cluster is an [ErrUnknownCluster].
func (s *Simulation) Cluster(name string) (Overview, error) {
	m, err := s.machine(name)
	if err != nil {
		return Overview{}, err
	}
	return m.overview(), nil
}

func (m *machine) overview() Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := Overview{
		Name: m.Name, Reconciler: m.Reconciler, Behaviour: m.behaviour, Objects: len(m.store.entries),
		Reported: m.sent, Problem: m.problem, Waiting: m.queue.Waiting(),
	}
	o.Behaviour.Mode = cmp.Or(o.Behaviour.Mode, Healthy)
	for _, member := range m.Memberships {
		o.Memberships = append(o.Memberships, hub.Membership{Environment: member.Environment, ClusterType: member.ClusterType})
	}
	o.Reconcilers = m.reportsNow()
	slices.SortFunc(o.Reconcilers, func(a, b hub.Report) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return o
}
