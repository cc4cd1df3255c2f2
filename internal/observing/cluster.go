package observing

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/compliance"
)

// Cluster is a cluster at a glance.
type Cluster struct {
	Name string `json:"name"`
	// Registered is false for one that was only heard of, and for one that was revoked.
	Registered bool              `json:"registered"`
	Revoked    bool              `json:"revoked,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// LastHeard is when it was last heard of; zero means never, and that a time in the past is asked about.
	LastHeard time.Time `json:"lastHeard,omitzero"`
	// Offline says that this is too long ago: nobody knows what it runs.
	Offline bool `json:"offline"`
	// Memberships are its roles, by environment and cluster type.
	Memberships []Membership `json:"memberships"`
}

// Membership is one role of a cluster, and whether it does what it should in it.
type Membership struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	// Wanted is the commit of the GitOps branch that it should run; empty before the first one.
	Wanted string `json:"wanted,omitempty"`
	// Running is what its reconciler says it runs; empty when nothing is known to follow the branch.
	Running string `json:"running,omitempty"`
	// Reconciler is what the cluster calls it.
	Reconciler string `json:"reconciler,omitempty"`
	// State is empty before there is anything to run.
	State compliance.State `json:"state,omitempty"`
	// Reason says why, in words.
	Reason string `json:"reason,omitempty"`
	// Since is when the state began; zero when that is not known.
	Since time.Time `json:"since,omitzero"`
}

// ClusterDetail is everything about one cluster that fits on a page.
type ClusterDetail struct {
	Cluster
	// RegisteredAt and RegisteredBy are those of the registration in force.
	RegisteredAt time.Time `json:"registeredAt,omitzero"`
	RegisteredBy string    `json:"registeredBy,omitempty"`
	// Reconcilers are all it reported, by kind, namespace and name, at most MaxLimit of them.
	Reconcilers []Reconciler `json:"reconcilers"`
	// Timeline is what happened last, the newest first, at most 20 events.
	Timeline []Event `json:"timeline"`
}

// ClustersQuery says which clusters are wanted. Empty fields do not restrict.
type ClustersQuery struct {
	Environment string
	ClusterType string
	// Labels are those that a cluster must have.
	Labels map[string]string
	// State wants clusters that stand so in some membership (in Environment, when that is set).
	State compliance.State
	// AsOf is the time of which they are wanted; zero means now.
	AsOf time.Time
	Paging
}

// ClusterQuery names a cluster.
type ClusterQuery struct {
	Name string // required
	// AsOf is the time of which it is wanted; zero means now.
	AsOf time.Time
}
