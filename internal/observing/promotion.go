package observing

import (
	"encoding/json"
	"time"
)

// Promotion is a commit on its way into an environment, with its last step.
type Promotion struct {
	// Subject is what is promoted: the URL of a control plane, or of an application's source.
	Subject     string `json:"subject"`
	Commit      string `json:"commit"`
	Environment string `json:"environment"`
	// Step is the kind of the last step.
	Step   string    `json:"step"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
}

// Step is one thing that happened to a commit in an environment.
type Step struct {
	Subject     string    `json:"subject"`
	Commit      string    `json:"commit"`
	Environment string    `json:"environment"`
	Kind        string    `json:"kind"`
	Reason      string    `json:"reason,omitempty"`
	By          string    `json:"by,omitempty"`
	At          time.Time `json:"at"`
	// Detail is what programs need of it, such as the output of a check.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// PromotionDetail is a commit's way through the environments.
type PromotionDetail struct {
	Subject string `json:"subject"`
	Commit  string `json:"commit"`
	// Title is the first line of its message; empty when that is not known.
	Title string `json:"title,omitempty"`
	// Stages are the environments that it was in or has before it, in the order of the chain where that is known,
	// and otherwise in the order in which it came to them.
	Stages []PromotionStage `json:"stages"`
}

// PromotionStage is a commit's way through one environment.
type PromotionStage struct {
	Environment string `json:"environment"`
	// Current says that it is the commit that the environment names.
	Current bool `json:"current"`
	// Candidate says that it is the one that enters next.
	Candidate bool `json:"candidate"`
	// Phase and Reason are those of the environment while the commit is current or the candidate there.
	Phase  string `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Gate is how many clusters run it, while it is current.
	Gate *Gate `json:"gate,omitempty"`
	// Entered, Arrived and Failed are when it last did; zero means not yet.
	Entered time.Time `json:"entered,omitzero"`
	Arrived time.Time `json:"arrived,omitzero"`
	Failed  time.Time `json:"failed,omitzero"`
	// Steps are in the order of time, the last 500 of them.
	Steps []Step `json:"steps"`
}

// PromotionsQuery says which promotions are wanted. Empty fields do not restrict.
type PromotionsQuery struct {
	Subject     string
	Environment string
	Commit      string
	From, To    time.Time // of the last step; from, inclusive, to, exclusive
	Paging
}

// PromotionQuery names a promotion.
type PromotionQuery struct {
	// Commit is the full hash, or at least seven digits of it that no other promoted commit begins with.
	Commit string // required
	// Subject tells commits of different repositories apart.
	Subject string
}
