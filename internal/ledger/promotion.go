package ledger

import (
	"encoding/json"
	"time"
)

// PromotionID identifies the promotion of a commit to an environment.
type PromotionID struct {
	// Subject is the URL of a control plane, or of an application's source with "#" and the workload.
	Subject     string `json:"subject"`
	Commit      string `json:"commit"`
	Environment string `json:"environment"`
}

// Step is one entry in the history of a promotion.
type Step struct {
	PromotionID
	// Kind is one of the kinds of package promote.
	Kind string `json:"kind"`
	// Reason explains the step to users.
	Reason string `json:"reason,omitempty"`
	// By is the user who did it; empty if it needed no user.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
	// Detail is for programs, such as the output of a check; its form depends on Kind.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// StepQuery selects steps. Empty fields match all.
type StepQuery struct {
	Subject     string
	Commit      string
	Environment string
	// Parts also selects the steps of the parts of Environment: the rings of an environment, whose names are "prod/canary", or the
	// batches of a ring, such as "prod/canary.01".
	Parts       bool
	Kind        string
	WithoutKind string    // leaves out steps of this kind
	From, To    time.Time // from, inclusive, to, exclusive
	Limit       int       // 0 means all
}

// ChangeEvent is what happened to a pull request.
type ChangeEvent struct {
	Repository string    `json:"repository"`
	Number     int       `json:"number"`
	Kind       string    `json:"kind"` // opened, updated, merged, closed
	Branch     string    `json:"branch,omitempty"`
	Commit     string    `json:"commit,omitempty"`
	Title      string    `json:"title,omitempty"`
	URL        string    `json:"url,omitempty"`
	By         string    `json:"by,omitempty"`
	At         time.Time `json:"at"`
}

// ChangeQuery selects events. Empty fields match all.
type ChangeQuery struct {
	Repository string
	Number     int
	Branch     string
	From, To   time.Time // from, inclusive, to, exclusive
	Limit      int       // 0 means all
}

// AuditEntry is a write that a user or client requested.
type AuditEntry struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Action  string    `json:"action"`            // plain verb form: "promote", "revoke cluster"
	Subject string    `json:"subject,omitempty"` // what it was about
	Detail  string    `json:"detail,omitempty"`
	Address string    `json:"address,omitempty"` // where the request came from
}

// AuditQuery selects entries. Empty fields match all.
type AuditQuery struct {
	By       string
	From, To time.Time // from, inclusive, to, exclusive
	Limit    int       // 0 means all
}
