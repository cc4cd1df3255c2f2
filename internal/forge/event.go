package forge

import "time"

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events. A forge may deliver several events for one action, in any order.
const (
	// EventPush: a branch was created, moved or deleted.
	EventPush EventKind = "push"
	// EventPullRequest: a pull request was opened, edited, closed, merged or reopened, or got new commits, or a merge queue tests it.
	EventPullRequest EventKind = "change"
	// EventLabel: a pull request got or lost a label.
	EventLabel EventKind = "label"
	// EventStatus: a commit got a status.
	EventStatus EventKind = "status"
	// EventComment: a pull request or an issue got a comment.
	EventComment EventKind = "comment"
	// EventPing: the forge tests the webhook.
	EventPing EventKind = "ping"
	// EventOther: anything else.
	EventOther EventKind = "other"
)

// Event is a webhook delivery, reduced to what says which state to read again. It is a hint, not a fact:
// receivers read the state from the forge, so that lost, late, repeated and forged events do no harm.
type Event struct {
	Kind EventKind
	// Repository is the path, as in [ID].
	Repository string
	// Branch is the pushed branch, or the base of the pull request.
	Branch string
	// Commit is the new head of the branch, the head of the pull request, the commit that a merge queue tests, or the commit of the status.
	// It is empty for a deleted branch.
	// Bitbucket Cloud tells only the first 12 digits of the head of a pull request.
	Commit string
	// PullRequest is the number of the pull request; otherwise 0.
	PullRequest int
	// Sender is the account that caused it.
	Sender string
	// Delivery is the forge's id of the delivery, to detect repeated ones. It is not signed.
	Delivery string
	// Time is when it happened; zero if the forge does not tell.
	Time time.Time
}
