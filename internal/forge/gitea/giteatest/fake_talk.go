package giteatest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (c *call) listLabels() {
	c.page(forgetest.Shapes(c.Repo.Labels, labelOf))
}

func (c *call) createLabel() {
	var in forge.Label
	c.Read(&in)
	if !strings.HasPrefix(in.Color, "#") || len(in.Color) != 7 {
		c.fail(422, "bad color")
		return
	}
	l, err := c.Repo.AddLabel(in)
	if !c.refuse(err) {
		c.JSON(201, labelOf(l))
	}
}

func (c *call) pullLabels() {
	c.JSON(200, labelsOf(c.Repo, c.Pull.Labels))
}

// addLabels ignores names of labels that do not exist, like the forge.
func (c *call) addLabels() {
	var in struct{ Labels []string }
	c.Read(&in)
	if i := c.Repo.Issue(c.Number("number")); i != nil {
		i.Labels = append(i.Labels, in.Labels...)
		c.JSON(200, labelsOf(c.Repo, i.Labels))
		return
	}
	p := c.Repo.PullRequest(c.Number("number"))
	if p == nil {
		c.fail(404, "not found")
		return
	}
	for _, name := range in.Labels {
		if l := c.Repo.Label(name); l != nil {
			c.Repo.AddLabelTo(c.Actor, p, l.Name)
		}
	}
	c.JSON(200, labelsOf(c.Repo, p.Labels))
}

func (c *call) removeLabel() {
	for _, l := range c.Repo.Labels {
		if l.ID == c.Number("label") {
			c.Repo.RemoveLabelFrom(c.Actor, c.Pull, l.Name)
			c.JSON(204, nil)
			return
		}
	}
	c.fail(422, "label does not exist")
}

func commentOf(c *forge.Comment) object {
	id, _ := strconv.Atoi(c.ID)
	return object{"id": id, "user": userOf(c.Author), "body": c.Body, "created_at": c.CreatedAt, "html_url": "https://gitea.example.com/c"}
}

// listComments has no pages, and answers with an internal error if the pull request does not exist.
func (c *call) listComments() {
	p := c.Repo.PullRequest(c.Number("number"))
	if p == nil {
		c.fail(500, "")
		return
	}
	c.JSON(200, forgetest.Shapes(p.Comments, commentOf))
}

func (c *call) createComment() {
	var in struct{ Body string }
	c.Read(&in)
	c.JSON(201, commentOf(c.Repo.AddComment(c.Actor, c.Pull, in.Body)))
}

func (c *call) editComment() {
	var in struct{ Body string }
	c.Read(&in)
	c.Comment.Body = in.Body
	c.JSON(200, commentOf(c.Comment))
}

func (c *call) issueOf(i *forgetest.Issue) object {
	return object{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": i.State, "user": userOf(i.Author),
		"html_url": c.fake.URL + "/" + c.Repo.Path + "/issues/" + strconv.Itoa(i.Number), "labels": labelsOf(c.Repo, i.Labels),
		"pull_request": nil,
	}
}

// listIssues ignores a label that does not exist, like the forge.
func (c *call) listIssues() {
	query := c.URL.Query()
	label, state := query.Get("labels"), query.Get("state")
	var found []object
	for _, i := range slices.Backward(c.Repo.Issues) {
		if state != "all" && state != string(i.State) || c.Repo.Label(label) != nil && !slices.Contains(i.Labels, label) {
			continue
		}
		found = append(found, c.issueOf(i))
	}
	c.page(found)
}

func (c *call) openIssue() {
	var in forge.NewIssue
	c.Read(&in)
	i, err := c.Repo.OpenIssue(c.Actor, in)
	if !c.refuse(err) {
		c.JSON(201, c.issueOf(i))
	}
}

func (c *call) editIssue() {
	var in forge.IssueEdit
	c.Read(&in)
	c.Issue.Edit(in)
	c.JSON(201, c.issueOf(c.Issue))
}

func statusOf(s forge.Status) object {
	return object{
		"status": s.State, "context": s.Context, "description": s.Description, "target_url": s.URL,
		"created_at": s.Time, "updated_at": s.Time,
	}
}

// setStatus answers with an internal error if the commit does not exist.
func (c *call) setStatus() {
	var in struct {
		Context, Description string
		State                forge.StatusState
		TargetURL            string `json:"target_url"`
	}
	c.Read(&in)
	s := forge.Status{Context: in.Context, State: in.State, Description: in.Description, URL: in.TargetURL}
	if err := c.Repo.SetStatus(c.Actor, c.PathValue("commit"), s); err != nil {
		c.fail(500, "")
		return
	}
	c.JSON(201, statusOf(s))
}

func (c *call) statuses() {
	if !c.Repo.HasCommit(c.PathValue("commit")) {
		c.fail(404, "not found")
		return
	}
	all := forgetest.Shapes(forge.LatestStatuses(c.Repo.Statuses[c.PathValue("commit")]), statusOf)
	slices.Reverse(all)
	answer := object{"state": "pending", "statuses": nil, "total_count": len(all)} // null, like the forge, without any
	if len(all) > 0 {
		answer["statuses"] = forgetest.Page(c.Call, all, "limit", 50)
	}
	c.JSON(200, answer)
}
