package azuredevopstest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

const heads = "refs/heads/"

var stateNames = map[forge.State]string{forge.Open: "active", forge.Closed: "abandoned", forge.Merged: "completed"}

// pull returns a single pull request, which has no labels.
func (c *call) pull(pr *forgetest.PullRequest) map[string]any {
	ref := func(commit string) map[string]any { return map[string]any{"commitId": commit} }
	p := map[string]any{
		"pullRequestId": pr.Number, "status": stateNames[pr.State], "title": pr.Title, "description": pr.Body,
		"isDraft": pr.Draft, "createdBy": account(pr.Author), "creationDate": pr.CreatedAt,
		"sourceRefName": heads + pr.Head.Branch, "targetRefName": heads + pr.Base.Branch, "mergeStatus": "succeeded",
		"lastMergeSourceCommit": ref(pr.Head.Commit), "lastMergeTargetCommit": ref(pr.Base.Commit),
		"lastMergeCommit": ref("0123456789abcdef0123456789abcdef01234567"), "repository": c.shape(c.Repo),
	}
	if pr.State != forge.Open {
		p["closedDate"], p["closedBy"] = pr.EndedAt, account(pr.EndedBy)
	}
	if pr.State == forge.Merged {
		p["lastMergeCommit"] = ref(pr.MergeCommit)
	}
	switch {
	case c.more.queued[pr] != nil:
		p["mergeStatus"] = "queued"
	case pr.Mergeable == forge.MergeableNo:
		p["mergeStatus"] = "conflicts"
	}
	if fork := pr.Head.Fork; fork != "" {
		source := map[string]any{}
		if other := c.World.Repo(fork); other != nil {
			source = c.shape(other)
		}
		p["forkSource"] = map[string]any{"name": heads + pr.Head.Branch, "repository": source}
	}
	return p
}

// listPulls returns only the beginnings of texts.
func (c *call) listPulls() {
	query := c.Request.URL.Query()
	found := []map[string]any{}
	for _, pr := range slices.Backward(c.Repo.PullRequests) {
		state := query.Get("searchCriteria.status")
		if (state != "all" && state != stateNames[pr.State] && (state != "" || pr.State != forge.Open)) ||
			differs(query.Get("searchCriteria.sourceRefName"), pr.Head.Branch) ||
			differs(query.Get("searchCriteria.targetRefName"), pr.Base.Branch) {
			continue
		}
		p := c.pull(pr)
		if text := []rune(pr.Body); len(text) > 400 {
			p["description"] = string(text[:400])
		}
		p["labels"] = labels(pr)
		found = append(found, p)
	}
	c.part(found, "$")
}

func differs(ref, branch string) bool { return ref != "" && ref != heads+branch }

// readPull also runs merges in the background: they happen at the second read.
func (c *call) readPull() {
	if queued := c.more.queued[c.Pull]; queued != nil {
		if queued.reads++; queued.reads > 1 {
			delete(c.more.queued, c.Pull)
			_ = c.Repo.Merge(queued.actor, c.Pull, forge.Merge{Head: queued.head})
		}
	}
	p := c.pull(c.Pull)
	p["reviewers"] = c.votes(c.Pull)
	c.JSON(http.StatusOK, p)
}

func (c *call) openPull() {
	var in struct {
		Source      string `json:"sourceRefName"`
		Target      string `json:"targetRefName"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Draft       bool   `json:"isDraft"`
	}
	c.Read(&in)
	if c.tooLong(in.Title, in.Description) {
		return
	}
	pr, err := c.Repo.OpenPullRequest(c.Actor, forge.NewPullRequest{
		Head: strings.TrimPrefix(in.Source, heads), Base: strings.TrimPrefix(in.Target, heads), Title: in.Title, Body: in.Description,
		Draft: in.Draft,
	})
	if err != nil {
		c.no(err)
		return
	}
	c.JSON(http.StatusCreated, c.pull(pr))
}

// tooLong refuses texts longer than 4,000 UTF-16 units.
func (c *call) tooLong(title, description string) bool {
	long := utf16Len(title) > 400 || utf16Len(description) > 4000
	if long {
		c.refuse(http.StatusBadRequest, "InvalidArgumentValueException",
			"Invalid argument value. Parameter name: A description for a pull request must not be longer than 4000 characters.")
	}
	return long
}

func utf16Len(text string) int {
	n := 0
	for _, r := range text {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// edit is a request to change a pull request.
type edit struct {
	Title       *string `json:"title"`
	Description *string `json:"description"`
	Target      *string `json:"targetRefName"`
	Status      *string `json:"status"`
	Head        struct {
		ID string `json:"commitId"`
	} `json:"lastMergeSourceCommit"`
	Auto *struct {
		ID string `json:"id"`
	} `json:"autoCompleteSetBy"`
}

func (c *call) editPull() {
	var in edit
	c.Read(&in)
	switch {
	case in.Status != nil && *in.Status == "completed":
		c.complete(c.Pull, in.Head.ID)
	case in.Auto != nil:
		c.completeLater(c.Pull, in.Auto.ID)
	default:
		c.editFields(c.Pull, in)
	}
}

func (c *call) editFields(pr *forgetest.PullRequest, in edit) {
	e := forge.PullRequestEdit{Title: in.Title, Body: in.Description}
	if in.Target != nil {
		e.Base = new(strings.TrimPrefix(*in.Target, heads))
	}
	if in.Status != nil {
		e.State = map[string]*forge.State{"active": new(forge.Open), "abandoned": new(forge.Closed)}[*in.Status]
	}
	if (e.Title != nil && c.tooLong(*e.Title, "")) || (e.Body != nil && c.tooLong("", *e.Body)) {
		return
	}
	if err := c.Repo.EditPullRequest(c.Actor, pr, e); err != nil {
		c.no(err)
		return
	}
	c.JSON(http.StatusOK, c.pull(pr))
}

func (c *call) complete(pr *forgetest.PullRequest, head string) {
	switch {
	case head == "":
		c.refuse(http.StatusBadRequest, "InvalidArgumentValueException", "You must specify a valid LastMergeSourceCommit to perform this operation.")
	case pr.State != forge.Open:
		c.refuse(http.StatusConflict, "GitPullRequestNotEditableException", "TF401181: The pull request cannot be edited due to its state.")
	case head != pr.Head.Commit:
		c.refuse(http.StatusConflict, "GitPullRequestStaleException", "TF401192: The pull request was updated since it was read.")
	case len(c.unfulfilled(pr)) > 0:
		c.refuse(http.StatusForbidden, "GitPullRequestUpdateRejectedByPolicyException",
			"The update of the pull request was rejected by policy: "+strings.Join(c.unfulfilled(pr), ", "))
	default:
		c.more.queued[pr] = &merge{actor: c.Actor, head: head}
		c.JSON(http.StatusOK, c.pull(pr))
	}
}

func (c *call) completeLater(pr *forgetest.PullRequest, by string) {
	if by != "id-of-"+c.Actor {
		c.refuse(http.StatusForbidden, "GitNeedsPermissionException", "Only yourself can set auto-complete in your name.")
		return
	}
	c.more.auto[pr] = merge{actor: c.Actor, head: pr.Head.Commit}
	c.completeWaiting()
	c.JSON(http.StatusOK, c.pull(pr))
}

// completeWaiting completes pull requests whose policies are now fulfilled.
func (c *call) completeWaiting() {
	for pr, m := range c.more.auto {
		if pr.State == forge.Open && len(c.unfulfilled(pr)) == 0 {
			delete(c.more.auto, pr)
			_ = c.Repo.Merge(m.actor, pr, forge.Merge{Head: pr.Head.Commit})
		}
	}
}

// iterations returns the heads that a pull request had.
func (c *call) iterations(pr *forgetest.PullRequest) []string {
	var all []string
	for _, h := range pr.Heads {
		all = append(all, h.Commit)
	}
	return all
}

func (c *call) listIterations() {
	all := []map[string]any{}
	for i, head := range c.iterations(c.Pull) {
		all = append(all, map[string]any{"id": i + 1, "sourceRefCommit": map[string]any{"commitId": head}})
	}
	c.list(all)
}

func (c *call) setPullStatus() {
	iterations, n := c.iterations(c.Pull), c.Number("iteration")
	if n < 1 || n > len(iterations) {
		c.refuse(http.StatusNotFound, "GitPullRequestIterationNotFoundException", "The iteration was not found.")
		return
	}
	var in status
	c.Read(&in)
	if c.more.statuses[c.Pull] == nil {
		c.more.statuses[c.Pull] = map[string]postedStatus{}
	}
	c.more.statuses[c.Pull][in.Context.name()] = postedStatus{in.State, iterations[n-1]}
	c.completeWaiting()
	c.JSON(http.StatusOK, in)
}

func labels(pr *forgetest.PullRequest) []map[string]any {
	return forgetest.Shapes(pr.Labels, label)
}

func label(name string) map[string]any {
	return map[string]any{"id": labelID(name), "name": name, "active": true}
}

// labelID returns the id of a label.
func labelID(name string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(name)))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func (c *call) listLabels() { c.list(labels(c.Pull)) }

func (c *call) addLabel() {
	var in struct {
		Name string `json:"name"`
	}
	c.Read(&in)
	c.Repo.AddLabelTo(c.Actor, c.Pull, in.Name)
	c.JSON(http.StatusOK, label(in.Name))
}

func (c *call) removeLabel() {
	for _, name := range c.Pull.Labels {
		if which := c.PathValue("label"); labelID(name) == which || strings.EqualFold(name, which) && !strings.ContainsAny(name, "/:") {
			c.Repo.RemoveLabelFrom(c.Actor, c.Pull, name)
			c.JSON(http.StatusOK, nil)
			return
		}
	}
	c.refuse(http.StatusNotFound, "TagNotFoundException", "The tag was not found.")
}
