package ledger

import (
	"encoding/json"
	"time"
)

// PromotionID is a commit on its way into an environment.
type PromotionID struct {
	// Subject is what is promoted: the URL of a control plane, or of an application's source.
	Subject     string `json:"subject"`
	Commit      string `json:"commit"`
	Environment string `json:"environment"`
}

// Step is one thing that happened in a promotion.
type Step struct {
	PromotionID
	// Kind is the name of the step, in the words of the promotion.
	Kind string `json:"kind"`
	// Reason is why, in words for people.
	Reason string `json:"reason,omitempty"`
	// By is who did it; empty when nobody had to.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
	// Detail is what programs need of it.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// StepQuery says which steps are wanted. Empty fields do not restrict.
type StepQuery struct {
	Subject     string
	Commit      string
	Environment string
	Kind        string
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

// ChangeQuery says which events are wanted. Empty fields do not restrict.
type ChangeQuery struct {
	Repository string
	Number     int
	Branch     string
	From, To   time.Time // from, inclusive, to, exclusive
	Limit      int       // 0 means all
}

// AuditEntry is a write that somebody asked for.
type AuditEntry struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Action  string    `json:"action"`            // plain verb form: "promote", "revoke cluster"
	Subject string    `json:"subject,omitempty"` // what it was about
	Detail  string    `json:"detail,omitempty"`
	Address string    `json:"address,omitempty"` // where the request came from
}

// AuditQuery says which entries are wanted. Empty fields do not restrict.
type AuditQuery struct {
	By       string
	From, To time.Time // from, inclusive, to, exclusive
	Limit    int       // 0 means all
}
