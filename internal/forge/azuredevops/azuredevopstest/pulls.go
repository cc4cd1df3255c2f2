package azuredevopstest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

const heads = "refs/heads/"

var stateNames = map[forge.State]string{forge.Open: "active", forge.Closed: "abandoned", forge.Merged: "completed"}

// pull returns a single pull request, which has no labels.
func (c *call) pull(change *forgetest.PullRequest) map[string]any {
	ref := func(commit string) map[string]any { return map[string]any{"commitId": commit} }
	p := map[string]any{
		"pullRequestId": change.Number, "status": stateNames[change.State], "title": change.Title, "description": change.Body,
		"isDraft": change.Draft, "createdBy": account(change.Author), "creationDate": change.CreatedAt,
		"sourceRefName": heads + change.Head.Branch, "targetRefName": heads + change.Base.Branch, "mergeStatus": "succeeded",
		"lastMergeSourceCommit": ref(change.Head.Commit), "lastMergeTargetCommit": ref(change.Base.Commit),
		"lastMergeCommit": ref("0123456789abcdef0123456789abcdef01234567"), "repository": c.shape(c.Repo),
	}
	if change.State != forge.Open {
		p["closedDate"], p["closedBy"] = change.EndedAt, account(change.EndedBy)
	}
	if change.State == forge.Merged {
		p["lastMergeCommit"] = ref(change.MergeCommit)
	}
	switch {
	case c.more.queued[change] != nil:
		p["mergeStatus"] = "queued"
	case change.Mergeable == forge.MergeableNo:
		p["mergeStatus"] = "conflicts"
	}
	if fork := change.Head.Fork; fork != "" {
		source := map[string]any{}
		if other := c.World.Repo(fork); other != nil {
			source = c.shape(other)
		}
		p["forkSource"] = map[string]any{"name": heads + change.Head.Branch, "repository": source}
	}
	return p
}

// listPulls returns only the beginnings of texts.
func (c *call) listPulls() {
	query := c.Request.URL.Query()
	found := []map[string]any{}
	for _, change := range slices.Backward(c.Repo.PullRequests) {
		state := query.Get("searchCriteria.status")
		if (state != "all" && state != stateNames[change.State] && (state != "" || change.State != forge.Open)) ||
			differs(query.Get("searchCriteria.sourceRefName"), change.Head.Branch) ||
			differs(query.Get("searchCriteria.targetRefName"), change.Base.Branch) {
			continue
		}
		p := c.pull(change)
		if text := []rune(change.Body); len(text) > 400 {
			p["description"] = string(text[:400])
		}
		p["labels"] = labels(change)
		found = append(found, p)
	}
	c.part(found, "$")
}

func differs(ref, branch string) bool { return ref != "" && ref != heads+branch }

// readPull also runs merges in the background: they happen at the second read.
func (c *call) readPull() {
	change := c.Pull
	if queued := c.more.queued[change]; queued != nil {
		if queued.looks++; queued.looks > 1 {
			delete(c.more.queued, change)
			_ = c.Repo.Merge(queued.actor, change, forge.Merge{Head: queued.head})
		}
	}
	c.JSON(http.StatusOK, c.pull(change))
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
	change, err := c.Repo.OpenPullRequest(c.Actor, forge.NewPullRequest{
		Head: strings.TrimPrefix(in.Source, heads), Base: strings.TrimPrefix(in.Target, heads), Title: in.Title, Body: in.Description,
		Draft: in.Draft,
	})
	if err != nil {
		c.no(err)
		return
	}
	c.JSON(http.StatusCreated, c.pull(change))
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
	change := c.Pull
	var in edit
	c.Read(&in)
	switch {
	case in.Status != nil && *in.Status == "completed":
		c.complete(change, in.Head.ID)
	case in.Auto != nil:
		c.completeLater(change, in.Auto.ID)
	default:
		c.editFields(change, in)
	}
}

func (c *call) editFields(change *forgetest.PullRequest, in edit) {
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
	if err := c.Repo.EditPullRequest(c.Actor, change, e); err != nil {
		c.no(err)
		return
	}
	c.JSON(http.StatusOK, c.pull(change))
}

func (c *call) complete(change *forgetest.PullRequest, head string) {
	switch {
	case head == "":
		c.refuse(http.StatusBadRequest, "InvalidArgumentValueException", "You must specify a valid LastMergeSourceCommit to perform this operation.")
	case change.State != forge.Open:
		c.refuse(http.StatusConflict, "GitPullRequestNotEditableException", "TF401181: The pull request cannot be edited due to its state.")
	case head != change.Head.Commit:
		c.refuse(http.StatusConflict, "GitPullRequestStaleException", "TF401192: The pull request was updated since it was read.")
	case len(c.unfulfilled(change)) > 0:
		c.refuse(http.StatusForbidden, "GitPullRequestUpdateRejectedByPolicyException",
			"The update of the pull request was rejected by policy: "+strings.Join(c.unfulfilled(change), ", "))
	default:
		c.more.queued[change] = &merge{actor: c.Actor, head: head}
		c.JSON(http.StatusOK, c.pull(change))
	}
}

func (c *call) completeLater(change *forgetest.PullRequest, by string) {
	if by != "id-of-"+c.Actor {
		c.refuse(http.StatusForbidden, "GitNeedsPermissionException", "Only yourself can set auto-complete in your name.")
		return
	}
	c.more.auto[change] = merge{actor: c.Actor, head: change.Head.Commit}
	c.completeWaiting()
	c.JSON(http.StatusOK, c.pull(change))
}

// completeWaiting completes pull requests whose policies are now fulfilled.
func (c *call) completeWaiting() {
	for change, m := range c.more.auto {
		if change.State == forge.Open && len(c.unfulfilled(change)) == 0 {
			delete(c.more.auto, change)
			_ = c.Repo.Merge(m.actor, change, forge.Merge{Head: change.Head.Commit})
		}
	}
}

// iterations returns the heads that a pull request had when it was read.
func (c *call) iterations(change *forgetest.PullRequest) []string {
	known := c.more.iterations[change]
	if len(known) == 0 || known[len(known)-1] != change.Head.Commit {
		known = append(known, change.Head.Commit)
		c.more.iterations[change] = known
	}
	return known
}

func (c *call) listIterations() {
	change := c.Pull
	all := []map[string]any{}
	for i, head := range c.iterations(change) {
		all = append(all, map[string]any{"id": i + 1, "sourceRefCommit": map[string]any{"commitId": head}})
	}
	c.list(all)
}

func (c *call) setPullStatus() {
	change := c.Pull
	iterations, n := c.iterations(change), c.Number("iteration")
	if n < 1 || n > len(iterations) {
		c.refuse(http.StatusNotFound, "GitPullRequestIterationNotFoundException", "The iteration was not found.")
		return
	}
	var in status
	c.Read(&in)
	if c.more.statuses[change] == nil {
		c.more.statuses[change] = map[string]said{}
	}
	c.more.statuses[change][in.Context.name()] = said{in.State, iterations[n-1]}
	c.completeWaiting()
	c.JSON(http.StatusOK, in)
}

func labels(change *forgetest.PullRequest) []map[string]any {
	all := []map[string]any{}
	for _, name := range change.Labels {
		all = append(all, map[string]any{"id": name, "name": name, "active": true})
	}
	return all
}

func (c *call) listLabels() {
	c.list(labels(c.Pull))
}

func (c *call) addLabel() {
	change := c.Pull
	var in struct {
		Name string `json:"name"`
	}
	c.Read(&in)
	c.Repo.AddLabelTo(c.Actor, change, in.Name)
	c.JSON(http.StatusOK, map[string]any{"id": in.Name, "name": in.Name, "active": true})
}

func (c *call) removeLabel() {
	change := c.Pull
	if !c.Repo.RemoveLabelFrom(c.Actor, change, c.PathValue("label")) {
		c.refuse(http.StatusNotFound, "TagNotFoundException", "The tag was not found.")
		return
	}
	c.JSON(http.StatusOK, nil)
}
