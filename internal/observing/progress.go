package observing

import (
	"github.com/kalypso-io/kalypso/internal/promotion"
)

// ProgressResult is what a commit has come to in an environment.
type ProgressResult string

// The results. All but ProgressWaits are final, as far as anybody can tell.
const (
	ProgressPassed ProgressResult = "passed" // it, or a newer commit, runs there
	ProgressFailed ProgressResult = "failed" // it failed, was refused, given up, or replaced by another one
	ProgressWaits  ProgressResult = "waits"  // it may still come
)

// Progress says how far a commit has come in an environment.
type Progress struct {
	Environment string         `json:"environment"`
	Commit      string         `json:"commit"`
	Result      ProgressResult `json:"result"`
	// Phase is where the commit that the environment names stands.
	Phase promotion.Phase `json:"phase"`
	// Reason says in words why: what it waits for, or what failed where.
	Reason string `json:"reason"`
	// Gate is how many clusters run it; absent until there is something to run.
	Gate *Gate `json:"gate,omitempty"`
}

// ProgressQuery names a commit and an environment.
type ProgressQuery struct {
	Environment string // required
	// ControlPlane tells environments of one name apart.
	ControlPlane string
	// Commit is the full hash, or at least seven digits of it. Empty means the one that the environment names.
	Commit string
}
