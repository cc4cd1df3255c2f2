package v1

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Version is the version of the protocol. It changes if a field is removed or gets another meaning, not if a field is added
// to requests.
const Version = 1

// Limits of both documents. A response that exceeds one is not used.
const (
	MaxResponseBytes = 4 << 20
	MaxReason        = 512 // bytes of a reason, warning or error
	MaxWarnings      = 20
	MaxScore         = 100
)

// Task is what a request asks for.
// +kubebuilder:validation:Enum=schedule;extend
type Task string

// Tasks of requests.
const (
	// Schedule asks a scheduler to choose among the candidates.
	Schedule Task = "schedule"
	// Extend asks an extender to refuse and to score candidates.
	Extend Task = "extend"
)

// Request is what a scheduler or extender is asked about one policy of an environment.
type Request struct {
	// Version is the version of the protocol: 1.
	Version int `json:"version"`

	// Task is "schedule", which asks for decisions, or "extend", which asks for refused and scored candidates.
	Task Task `json:"task"`

	// Digest identifies the question: a SHA-256 of everything in the request but digest, seed and the fields previous.
	// The response repeats it. An answer is used as long as its question stays the same, so nobody is asked again.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Digest string `json:"digest"`

	// Seed is a number that is made from the digest, for schedulers that choose at random: the same question has the same
	// seed.
	Seed uint32 `json:"seed"`

	// Scheduler is the name under which the operator configured the scheduler or extender.
	Scheduler string `json:"scheduler"`

	// Environment is the name of the environment.
	Environment string `json:"environment"`

	// Policy is the policy that asks.
	Policy Policy `json:"policy"`

	// ClusterTypes are the cluster types that are a candidate of at least one target, sorted by name.
	ClusterTypes []ClusterType `json:"clusterTypes"`

	// Targets are the targets with at least one candidate, sorted by name.
	Targets []Target `json:"targets"`

	// Facts are what else the decision depends on: the document that the operator configured for the scheduler, such as
	// prices. Absent if there is none.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Facts json.RawMessage `json:"facts,omitempty"`
}

// Policy is the part of a SchedulingPolicy that a scheduler needs.
type Policy struct {
	// Name is the name of the policy.
	Name string `json:"name"`

	// Workspace restricts the targets of the policy. Absent for policies of every workspace.
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// Priority orders policies: higher is first.
	// +optional
	Priority int32 `json:"priority,omitempty"`

	// MaxClusterTypes is how many cluster types a target may be assigned to. Absent if there is no limit.
	// +optional
	MaxClusterTypes int32 `json:"maxClusterTypes,omitempty"`
}

// ClusterType is a cluster type that targets can be assigned to.
type ClusterType struct {
	// Name is the name of the cluster type.
	Name string `json:"name"`

	// Labels are the labels of the cluster type.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Features are what its clusters have, with the version of each, which can be empty.
	// +optional
	Features map[string]string `json:"features,omitempty"`

	// Capacity is how much of each resource the assignments together may request on a cluster, as Kubernetes quantities.
	// +optional
	Capacity map[string]string `json:"capacity,omitempty"`

	// Clusters are the clusters of the type, sorted by name, if the control plane lists them.
	// +optional
	Clusters []Cluster `json:"clusters,omitempty"`
}

// Cluster is a cluster of a cluster type.
type Cluster struct {
	// Name is the name of the cluster.
	Name string `json:"name"`

	// Labels are the labels of the cluster.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// Target is a deployment target that has to be assigned.
type Target struct {
	// Name is the name of the target, which is unique in the environment. Responses use it.
	Name string `json:"name"`

	// Workload is the name of its workload.
	Workload string `json:"workload"`

	// Workspace is the workspace of its workload.
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// Labels are the labels of the target and its workload.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Requests are what the target requests on a cluster, as Kubernetes quantities.
	// +optional
	Requests map[string]string `json:"requests,omitempty"`

	// Candidates are the names of the cluster types that the target may be assigned to, sorted.
	Candidates []string `json:"candidates"`

	// Previous are the names of the cluster types that the policy has assigned the target to, sorted. A scheduler that
	// moves as little as possible keeps them. They are not part of the digest.
	// +optional
	Previous []string `json:"previous,omitempty"`
}

// Seal sets the digest and the seed.
func (r *Request) Seal() error { return r.SealWithFacts(FactsDigest(r.Facts)) }

// FactsDigest identifies facts; empty if there are none.
func FactsDigest(facts json.RawMessage) string {
	if len(facts) == 0 {
		return ""
	}
	sum := sha256.Sum256(facts)
	return hex.EncodeToString(sum[:])
}

// SealWithFacts is [Request.Seal] for facts of which only the [FactsDigest] is known.
func (r *Request) SealWithFacts(factsDigest string) error {
	r.Digest, r.Seed = "", 0
	question := *r
	question.Facts = nil
	if factsDigest != "" {
		question.Facts = json.RawMessage(`"` + factsDigest + `"`)
	}
	question.Targets = make([]Target, len(r.Targets))
	for i, t := range r.Targets {
		t.Previous = nil
		question.Targets[i] = t
	}
	text, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	sum := sha256.Sum256(text)
	r.Digest, r.Seed = hex.EncodeToString(sum[:]), binary.BigEndian.Uint32(sum[:])
	return nil
}
