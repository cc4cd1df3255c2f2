package github

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

const enqueue = `mutation($input: EnqueuePullRequestInput!) {
  enqueuePullRequest(input: $input) { clientMutationId }
}`

// enqueue adds a pull request to the merge queue of its base branch, which merges it later. The error is always set: a [forge.ErrConflict]
// if the pull request is in the queue.
func (r *Repository) enqueue(ctx context.Context, number int, head string) error {
	p, err := r.pull(ctx, mergeLater, number)
	if err != nil {
		return err
	}
	var answer struct{ Errors []struct{ Message string } }
	err = r.forge.graphQL.Do(ctx, rest.Request{
		Op: mergeLater.name, Where: r.Of.String(), Right: mergeLater.right, Method: http.MethodPost, Path: "/graphql", Out: &answer, Repeatable: true,
		In: map[string]any{"query": enqueue, "variables": map[string]any{"input": map[string]any{"pullRequestId": p.NodeID, "expectedHeadOid": head}}},
	})
	if err != nil {
		return err
	}
	detail := "it is in the merge queue"
	if len(answer.Errors) > 0 && !strings.Contains(strings.ToLower(answer.Errors[0].Message), "already") {
		detail = "it cannot be added to the merge queue: " + answer.Errors[0].Message
	}
	return rest.Failure{Op: mergeLater.name, Where: r.Of.String(), Status: http.StatusConflict, Message: detail, Secrets: r.forge.inUse()}.Error()
}

const queued = `query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      mergeQueueEntry { headCommit { oid tree { oid } } }
      commits(last: 1) { nodes { commit { oid tree { oid } } } }
    }
  }
}`

// treeOf is a commit and its tree.
type treeOf struct {
	OID  string `json:"oid"`
	Tree struct {
		OID string `json:"oid"`
	} `json:"tree"`
}

// Queued reads the place of a pull request in the merge queue. Servers without merge queues refuse the question: then it is in none.
func (r *Repository) Queued(ctx context.Context, number int) (*forge.Queued, error) {
	var answer struct {
		Data struct {
			Repository struct {
				PullRequest struct {
					Entry *struct {
						Commit *treeOf `json:"headCommit"`
					} `json:"mergeQueueEntry"`
					Commits struct {
						Nodes []struct {
							Commit treeOf `json:"commit"`
						} `json:"nodes"`
					} `json:"commits"`
				} `json:"pullRequest"`
			} `json:"repository"`
		} `json:"data"`
	}
	_, name, _ := strings.Cut(r.Of.Path, "/")
	err := r.forge.graphQL.Do(ctx, rest.Request{
		Op: readQueue.name, Where: r.Of.String(), Right: readQueue.right, Method: http.MethodPost, Path: "/graphql", Out: &answer,
		Repeatable: true, Reads: true,
		In: map[string]any{"query": queued, "variables": map[string]any{"owner": r.owner, "name": name, "number": number}},
	})
	p := answer.Data.Repository.PullRequest
	if err != nil || p.Entry == nil {
		return nil, err
	}
	q := &forge.Queued{}
	var head treeOf
	if len(p.Commits.Nodes) > 0 {
		head = p.Commits.Nodes[0].Commit
		q.Head = head.OID
	}
	if p.Entry.Commit != nil {
		q.Commit, q.SameFiles = p.Entry.Commit.OID, head.Tree.OID != "" && p.Entry.Commit.Tree.OID == head.Tree.OID
	}
	return q, nil
}

// mergeGroup is what a merge queue tests: https://docs.github.com/webhooks/webhook-events-and-payloads#merge_group
type mergeGroup struct {
	HeadSHA string `json:"head_sha"`
	HeadRef string `json:"head_ref"`
	BaseRef string `json:"base_ref"`
}

// number returns the number of the group's last pull request, which is in the name of its branch: gh-readonly-queue/BASE/pr-NUMBER-COMMIT.
func (g mergeGroup) number() int {
	_, after, _ := strings.Cut(g.HeadRef[strings.LastIndexByte(g.HeadRef, '/')+1:], "pr-")
	digits, _, _ := strings.Cut(after, "-")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
