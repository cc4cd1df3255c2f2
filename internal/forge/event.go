package forge

import "time"

// EventKind is what happened.
type EventKind string

// What can happen. A forge may deliver several for one thing, and in any order.
const (
	// EventPush: a branch moved, was created, or was deleted.
	EventPush EventKind = "push"
	// EventPullRequest: a pull request was opened, edited, closed, merged, opened again, or got new commits.
	EventPullRequest EventKind = "change"
	// EventLabel: a pull request got or lost a label.
	EventLabel EventKind = "label"
	// EventStatus: something was said about a commit.
	EventStatus EventKind = "status"
	// EventComment: a comment on a pull request or an issue.
	EventComment EventKind = "comment"
	// EventPing: the forge tries whether we listen.
	EventPing EventKind = "ping"
	// EventOther: none of our business.
	EventOther EventKind = "other"
)

// Event is a delivery of a forge, reduced to what says where to look. It is a hint, not a fact:
// whoever gets it reads the state anew, so that lost, late, repeated and forged events do no harm.
type Event struct {
	Kind EventKind
	// Repository is the path of the repository, as in [ID].
	Repository string
	// Branch is the one that was pushed, or the base of the pull request.
	Branch string
	// Commit is the branch's new head, the pull request's head, or the status'; empty for a deleted branch.
	Commit string
	// PullRequest is the number of the pull request; 0 when there is none.
	PullRequest int
	// Sender is who did it.
	Sender string
	// Delivery is the forge's name for the delivery, by which repeated ones are recognized. It is not signed.
	Delivery string
	// Time is when it happened; zero where the forge does not tell.
	Time time.Time
}
