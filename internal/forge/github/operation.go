package github

import (
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// operation is a kind of request, with the permission it needs in GitHub's terms.
type operation struct {
	name, right string
	// repeatable means that a POST can be retried.
	repeatable bool
	// tagged means that the ETag of a response changes with all that it says. That of a single pull request does
	// not: whether it can be merged is found out later.
	tagged bool
}

// The operations.
var (
	readAccount      = operation{name: "read own account", right: "metadata=read"}
	createRepository = operation{name: "create repository", right: "administration=write"}
	readRepository   = operation{name: "read repository", right: "metadata=read"}
	removeRepository = operation{name: "delete repository", right: "administration=write"}

	findPullRequests = operation{name: "find pull requests", right: "pull_requests=read", tagged: true}
	readPullRequest  = operation{name: "read pull request", right: "pull_requests=read"}
	openPullRequest  = operation{name: "open pull request", right: "pull_requests=write"}
	editPullRequest  = operation{name: "edit pull request", right: "pull_requests=write"}
	mergePullRequest = operation{name: "merge pull request", right: "contents=write"}
	mergeLater       = operation{name: "merge pull request later", right: "contents=write"}
	readQueue        = operation{name: "read merge queue", right: "contents=read"}

	createLabel = operation{name: "create label", right: "issues=write"}
	addLabels   = operation{name: "add labels", right: "issues=write", repeatable: true}
	removeLabel = operation{name: "remove label", right: "issues=write"}
	readLabels  = operation{name: "read labels", right: "issues=read"}

	setStatus    = operation{name: "set status", right: "statuses=write", repeatable: true}
	readStatuses = operation{name: "read statuses", right: "statuses=read"}
	readChecks   = operation{name: "read checks", right: "checks=read"}

	readWorkflows = operation{name: "read workflow runs", right: "checks=read for an app, or actions=read for a token"}

	readComments  = operation{name: "read comments", right: "issues=read", tagged: true}
	createComment = operation{name: "create comment", right: "issues=write"}
	editComment   = operation{name: "edit comment", right: "issues=write"}

	readReviews = operation{name: "read reviews", right: "pull_requests=read"}

	readNotes  = operation{name: "read annotations", right: "pull_requests=read"}
	writeNote  = operation{name: "annotate pull request", right: "pull_requests=write"}
	removeNote = operation{name: "remove annotation", right: "pull_requests=write"}

	findIssues = operation{name: "find issues", right: "issues=read", tagged: true}
	openIssue  = operation{name: "open issue", right: "issues=write"}
	editIssue  = operation{name: "edit issue", right: "issues=write"}

	createBranch     = operation{name: "create branch", right: "contents=write", repeatable: true}
	deleteBranch     = operation{name: "delete branch", right: "contents=write"}
	readBranch       = operation{name: "read branch", right: "contents=read"}
	readProtection   = operation{name: "read protection", right: "administration=read"}
	readRules        = operation{name: "read rules", right: "metadata=read"}
	setProtection    = operation{name: "set protection", right: "administration=write"}
	removeProtection = operation{name: "remove protection", right: "administration=write"}

	findHook = operation{name: "find hook", right: "repository_hooks=read"}
	setHook  = operation{name: "set hook", right: "repository_hooks=write"}
)

// read returns a request that reads a path.
func (o operation) read(path string, out any) rest.Request {
	return rest.Request{Op: o.name, Right: o.right, Path: path, Out: out, Conditional: o.tagged}
}

// write returns a request with a body.
func (o operation) write(method, path string, in, out any) rest.Request {
	return rest.Request{Op: o.name, Right: o.right, Method: method, Path: path, In: in, Out: out, Repeatable: o.repeatable}
}

// remove returns a request that deletes what is at a path.
func (o operation) remove(path string) rest.Request {
	return rest.Request{Op: o.name, Right: o.right, Method: http.MethodDelete, Path: path}
}
