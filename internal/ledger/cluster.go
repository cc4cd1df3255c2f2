package ledger

import "time"

// Membership is an environment that a cluster serves, and the cluster type it serves as.
type Membership struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
}

// Registration holds what a cluster is, from At on.
type Registration struct {
	Cluster     string            `json:"cluster"`
	Memberships []Membership      `json:"memberships,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// CredentialHash is the hash of the credential that the cluster reports with. The credential is not stored.
	CredentialHash string `json:"credentialHash,omitempty"`
	// PublicKey verifies report files that are carried by hand; PEM, optional.
	PublicKey string `json:"publicKey,omitempty"`
	// ReportedBy is the cluster whose credential reports for this one, which then has neither a credential nor a public key.
	ReportedBy string `json:"reportedBy,omitempty"`
	// Revoked ends the memberships and the credential. The facts stay.
	Revoked bool      `json:"revoked,omitempty"`
	At      time.Time `json:"at"`
	By      string    `json:"by,omitempty"`
}

// Cluster is a cluster that registered or reported.
type Cluster struct {
	Name string `json:"name"`
	// Registered is false for a cluster that only reported, or was revoked. Its reports are kept and do not count.
	Registered bool `json:"registered"`
	// Registration is the one in force; zero if none.
	Registration Registration `json:"registration,omitzero"`
	// LastHeard is the time of the last report; zero means never.
	LastHeard time.Time `json:"lastHeard,omitzero"`
	// ReadUntil is when the service to which the cluster reports was last read; zero if it reports to the server. The server sets it; ledgers
	// do not store it.
	ReadUntil time.Time `json:"-"`
}

// ClusterQuery selects clusters. Empty fields match all.
type ClusterQuery struct {
	Name string
	// Environment and ClusterType match members by the registration in force.
	Environment string
	ClusterType string
	// ReportedBy matches registered clusters by the registration in force.
	ReportedBy string
	// AsOf selects the registrations in force then; zero means now.
	AsOf time.Time
	// Natural orders clusters as people count: large-2 comes before large-10. Otherwise they are ordered by the bytes of their names.
	Natural bool
	// After is the name of the last cluster of the previous page; with Natural, its key in package natural.
	After string
	Limit int // 0 means all
}

// Token is a credential of a user or client.
type Token struct {
	ID          string    `json:"id"`
	Hash        string    `json:"hash"`
	Role        string    `json:"role"` // one of the server's roles
	Description string    `json:"description,omitempty"`
	By          string    `json:"by,omitempty"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires,omitzero"`
	Revoked     time.Time `json:"revoked,omitzero"`
	// Scope restricts what the token allows, in a format of the server.
	Scope string `json:"scope,omitempty"`
}
