package githubtest

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// graphQLRequest is a request about one pull request.
type graphQLRequest struct {
	Query     string
	Variables struct {
		Owner, Name string
		Number      int
		Input       struct{ PullRequestID, ExpectedHeadOid, MergeMethod string }
	}
}

// graphQL supports two mutations and a query, which it knows by their fields.
func (c *call) graphQL() {
	var in graphQLRequest
	c.Read(&in)
	path, number := in.Variables.Owner+"/"+in.Variables.Name, in.Variables.Number
	if id := in.Variables.Input.PullRequestID; id != "" {
		of, digits, _ := strings.Cut(strings.TrimPrefix(id, "PR_"), "_")
		path = of
		number, _ = strconv.Atoi(digits)
	}
	repo := c.fake.World.Repo(path)
	var p *forgetest.PullRequest
	if repo != nil {
		p = repo.PullRequest(number)
	}
	switch {
	case p == nil:
		c.graphQLError("NOT_FOUND", "Could not resolve to a node")
	case strings.Contains(in.Query, "enablePullRequestAutoMerge(input: $input)") && in.Variables.Input.MergeMethod != "":
		c.enableAutoMerge(repo, p, in)
	case strings.Contains(in.Query, "enqueuePullRequest(input: $input)"):
		c.enqueue(repo, p, in.Variables.Input.ExpectedHeadOid)
	case strings.Contains(in.Query, "mergeQueueEntry { headCommit { oid tree { oid } } }"):
		c.JSON(200, object{"data": object{"repository": object{"pullRequest": queueEntryOf(p)}}})
	default:
		c.graphQLError("NOT_FOUND", "Could not resolve to a node")
	}
}

func (c *call) graphQLError(kind, message string) {
	c.JSON(200, object{"errors": []object{{"type": kind, "message": message}}})
}

func (c *call) enableAutoMerge(repo *forgetest.Repo, p *forgetest.PullRequest, in graphQLRequest) {
	input := in.Variables.Input
	if method := strings.ToLower(input.MergeMethod); c.fake.Methods != nil && !slices.Contains(c.fake.Methods, method) {
		c.graphQLError("UNPROCESSABLE", "Merge method "+method+" is not allowed on this repository")
		return
	}
	if err := repo.AutoMerge(c.Actor, p, forge.Merge{Head: input.ExpectedHeadOid}); err != nil {
		c.JSON(200, object{"data": object{"enablePullRequestAutoMerge": nil}, "errors": []object{{
			"type": "UNPROCESSABLE", "message": err.Error(),
		}}})
		return
	}
	c.JSON(200, object{"data": object{"enablePullRequestAutoMerge": object{"clientMutationId": nil}}})
}

func (c *call) enqueue(repo *forgetest.Repo, p *forgetest.PullRequest, head string) {
	var refused *forge.Error
	if errors.As(repo.Enqueue(c.Actor, p, head), &refused) {
		c.JSON(200, object{"data": object{"enqueuePullRequest": nil}, "errors": []object{{"type": "UNPROCESSABLE", "message": refused.Detail}}})
		return
	}
	c.JSON(200, object{"data": object{"enqueuePullRequest": object{"clientMutationId": nil}}})
}

// queueEntryOf returns a pull request's place in the merge queue. The tree of a commit is named after it; what a queue makes of one
// pull request alone has the tree of its head.
func queueEntryOf(p *forgetest.PullRequest) object {
	commit := func(id, tree string) object { return object{"oid": id, "tree": object{"oid": "tree-" + tree}} }
	out := object{
		"mergeQueueEntry": nil,
		"commits":         object{"nodes": []object{{"commit": commit(p.Head.Commit, p.Head.Commit)}}},
	}
	if g := p.Group; g != nil {
		tree := p.Head.Commit
		if g.Others {
			tree = g.Commit
		}
		out["mergeQueueEntry"] = object{"headCommit": commit(g.Commit, tree)}
	}
	return out
}
