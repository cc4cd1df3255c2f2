package ledger

import "time"

// Membership is one role of a cluster.
type Membership struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
}

// Registration says what a cluster is from a time on.
type Registration struct {
	Cluster     string            `json:"cluster"`
	Memberships []Membership      `json:"memberships,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// CredentialHash is the hash of what the cluster reports with; the credential itself is nowhere.
	CredentialHash string `json:"credentialHash,omitempty"`
	// PublicKey is what its files are checked with that are carried by hand, in PEM form; empty when it has none.
	PublicKey string `json:"publicKey,omitempty"`
	// Revoked ends the membership and the credential. The facts stay.
	Revoked bool      `json:"revoked,omitempty"`
	At      time.Time `json:"at"`
	By      string    `json:"by,omitempty"`
}

// Cluster is a cluster that registered, or was heard of.
type Cluster struct {
	Name string `json:"name"`
	// Registered says whether somebody registered it; what an unregistered cluster reports is kept and counts nowhere.
	Registered bool `json:"registered"`
	// Registration is the one in force; zero when there is none.
	Registration Registration `json:"registration,omitzero"`
	// LastHeard is the newest heartbeat; zero means never.
	LastHeard time.Time `json:"lastHeard,omitzero"`
}

// ClusterQuery says which clusters are wanted. Empty fields do not restrict.
type ClusterQuery struct {
	Name string
	// Environment and ClusterType want members, by a registration that is in force and not revoked.
	Environment string
	ClusterType string
	// AsOf is the time whose registrations count; zero means now.
	AsOf time.Time
	// After is the name of the last cluster of the page before.
	After string
	Limit int // 0 means all
}

// Token is a credential of a person or program.
type Token struct {
	ID          string    `json:"id"`
	Hash        string    `json:"hash"`
	Role        string    `json:"role"` // what it is good for; the server knows the roles
	Description string    `json:"description,omitempty"`
	By          string    `json:"by,omitempty"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires,omitzero"`
	Revoked     time.Time `json:"revoked,omitzero"`
	// Scope restricts it, in the words of the server, such as the memberships that a cluster may join with.
	Scope string `json:"scope,omitempty"`
}
