package operator

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Reasons of conditions.
const (
	// ReasonSucceeded is that of Ready if all rounds succeeded.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing is that of Reconciling, and of Ready before the first round has ended.
	ReasonProgressing = "Progressing"
	// ReasonRoundFailed means that an environment could not be read or proposed.
	ReasonRoundFailed = "RoundFailed"
	// ReasonSecret means that a Secret is missing, or has no credential.
	ReasonSecret = "SecretUnusable"
	// ReasonForbidden means that the operator's role lacks a rule, which the message names.
	ReasonForbidden = "Forbidden"
	// ReasonKindMissing means that a definition is not installed.
	ReasonKindMissing = "KindMissing"
	// ReasonTooMany means that the control plane has more environments than the status can list.
	ReasonTooMany = "TooManyEnvironments"
	// ReasonLedger means that the ledger cannot be opened, or does not answer. Environments are scheduled all the same.
	ReasonLedger = "LedgerUnusable"
	// ReasonPromotionFailed means that a round of promotion failed. Environments are scheduled all the same.
	ReasonPromotionFailed = "PromotionFailed"
	// ReasonDeliveryFailed means that the applications of the control plane cannot be delivered at all. Environments are scheduled all the same.
	ReasonDeliveryFailed = "DeliveryFailed"
	// ReasonAccepted is that of Ready of a document without errors, and ReasonInvalid of one that has some.
	ReasonAccepted = "Accepted"
	ReasonInvalid  = "Invalid"
	// ReasonNotAllowed means that the operator's configuration does not allow a URL.
	ReasonNotAllowed = "NotAllowed"
)

// Reasons of events. Warnings have the reason of the condition.
const (
	// EventChanged tells what a round did.
	EventChanged = "Changed"
	// EventPlanned tells which pull request of the control plane was planned.
	EventPlanned = "Planned"
	// EventPromoted tells which commit an environment has now.
	EventPromoted = "Promoted"
	// EventFailed is the warning that a commit failed in an environment.
	EventFailed = "Failed"
)

// waiting is an error that another round may not have, with the reason of the condition.
type waiting struct {
	reason string
	err    error
}

func (w *waiting) Error() string { return w.err.Error() }
func (w *waiting) Unwrap() error { return w.err }

// stalled is an error that remains until the spec or the operator's configuration changes.
type stalled struct {
	reason string
	err    error
}

func (s *stalled) Error() string { return s.err.Error() }
func (s *stalled) Unwrap() error { return s.err }

// explain adds to an error of the API server what to do, and the reason.
func explain(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return &waiting{ReasonForbidden, fmt.Errorf("%w; add the rule to the operator's role", err)}
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return &waiting{ReasonKindMissing, fmt.Errorf("%w; install the definitions of this version of the operator", err)}
	}
	return err
}

// reasonOf returns the reason of the condition for an error.
func reasonOf(err error) string {
	var w *waiting
	var s *stalled
	switch {
	case errors.As(err, &s):
		return s.reason
	case errors.As(err, &w):
		return w.reason
	}
	return ReasonRoundFailed
}

// maxMessage is the length of messages in a status, which has to stay small.
const maxMessage = 1024

// message returns a text without credentials, of bounded length.
func message(text string) string { return shortened(text, maxMessage) }

// shortened returns a text without credentials, of at most n characters.
func shortened(text string, n int) string {
	text = secret.Scrub(text)
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
