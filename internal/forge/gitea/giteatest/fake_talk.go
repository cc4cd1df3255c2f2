package giteatest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (c *call) listLabels() {
	var all []object
	for _, l := range c.repo.Labels {
		all = append(all, labelOf(l))
	}
	paged(c, all, asIs)
}

func (c *call) createLabel() {
	var in forge.Label
	if !c.read(&in) {
		return
	}
	if !strings.HasPrefix(in.Color, "#") || len(in.Color) != 7 {
		c.fail(422, "bad color")
		return
	}
	l, err := c.repo.AddLabel(in)
	if !c.refuse(err) {
		c.answer(201, labelOf(l))
	}
}

func (c *call) pullLabels() {
	if p := c.pull(); p != nil {
		c.answer(200, labelsOf(c.repo, p.Labels))
	}
}

// addLabels ignores names of labels that do not exist, as the forge does.
func (c *call) addLabels() {
	var in struct{ Labels []string }
	if !c.read(&in) {
		return
	}
	if i := c.repo.Issue(c.number("number")); i != nil {
		i.Labels = append(i.Labels, in.Labels...)
		c.answer(200, labelsOf(c.repo, i.Labels))
		return
	}
	p := c.pull()
	if p == nil {
		return
	}
	for _, name := range in.Labels {
		if l := c.repo.Label(name); l != nil {
			c.repo.AddLabelTo(c.actor, p, l.Name)
		}
	}
	c.answer(200, labelsOf(c.repo, p.Labels))
}

func (c *call) removeLabel() {
	p := c.pull()
	if p == nil {
		return
	}
	for _, l := range c.repo.Labels {
		if l.ID == c.number("label") {
			c.repo.RemoveLabelFrom(c.actor, p, l.Name)
			c.answer(204, nil)
			return
		}
	}
	c.fail(422, "label does not exist")
}

func commentOf(c *forge.Comment) object {
	id, _ := strconv.Atoi(c.ID)
	return object{"id": id, "user": userOf(c.Author), "body": c.Body, "created_at": c.CreatedAt, "html_url": "https://gitea.example.com/c"}
}

// listComments has no pages, and fails by itself where there is nothing to comment on.
func (c *call) listComments() {
	p := c.repo.Change(c.number("number"))
	if p == nil {
		c.fail(500, "")
		return
	}
	out := []object{}
	for _, comment := range p.Comments {
		out = append(out, commentOf(comment))
	}
	c.answer(200, out)
}

func (c *call) createComment() {
	var in struct{ Body string }
	if p := c.pull(); p != nil && c.read(&in) {
		c.answer(201, commentOf(c.repo.AddComment(c.actor, p, in.Body)))
	}
}

func (c *call) editComment() {
	var in struct{ Body string }
	comment, _ := c.repo.Comment(c.PathValue("comment"))
	if comment == nil {
		c.fail(404, "not found")
		return
	}
	if c.read(&in) {
		comment.Body = in.Body
		c.answer(200, commentOf(comment))
	}
}

func (c *call) issueOf(i *forgetest.Issue) object {
	return object{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": i.State, "user": userOf(i.Author),
		"html_url": c.fake.URL + "/" + c.repo.Path + "/issues/" + strconv.Itoa(i.Number), "labels": labelsOf(c.repo, i.Labels),
		"pull_request": nil,
	}
}

// listIssues ignores a label that does not exist, as the forge does.
func (c *call) listIssues() {
	query := c.URL.Query()
	label, state := query.Get("labels"), query.Get("state")
	var found []object
	for _, i := range slices.Backward(c.repo.Issues) {
		if state != "all" && state != string(i.State) || c.repo.Label(label) != nil && !slices.Contains(i.Labels, label) {
			continue
		}
		found = append(found, c.issueOf(i))
	}
	paged(c, found, asIs)
}

func (c *call) openIssue() {
	var in forge.NewIssue
	if !c.read(&in) {
		return
	}
	i, err := c.repo.OpenIssue(c.actor, in)
	if !c.refuse(err) {
		c.answer(201, c.issueOf(i))
	}
}

func (c *call) editIssue() {
	var in forge.IssueEdit
	i := c.repo.Issue(c.number("number"))
	if i == nil {
		c.fail(404, "not found")
		return
	}
	if !c.read(&in) {
		return
	}
	if in.Title != nil {
		i.Title = *in.Title
	}
	if in.Body != nil {
		i.Body = *in.Body
	}
	if in.State != nil {
		i.State = *in.State
	}
	c.answer(201, c.issueOf(i))
}

func statusOf(s forge.Status) object {
	return object{
		"status": s.State, "context": s.Context, "description": s.Description, "target_url": s.URL,
		"created_at": s.Time, "updated_at": s.Time,
	}
}

// setStatus fails by itself where there is no such commit.
func (c *call) setStatus() {
	var in struct {
		Context, Description string
		State                forge.StatusState
		TargetURL            string `json:"target_url"`
	}
	if !c.read(&in) {
		return
	}
	s := forge.Status{Context: in.Context, State: in.State, Description: in.Description, URL: in.TargetURL}
	if err := c.repo.SetStatus(c.actor, c.PathValue("commit"), s); err != nil {
		c.fail(500, "")
		return
	}
	c.answer(201, statusOf(s))
}

func (c *call) statuses() {
	if !c.repo.HasCommit(c.PathValue("commit")) {
		c.fail(404, "not found")
		return
	}
	var all []object
	for _, s := range slices.Backward(forge.LatestStatuses(c.repo.Statuses[c.PathValue("commit")])) {
		all = append(all, statusOf(s))
	}
	paged(c, all, func(page []object) any { return object{"state": "", "statuses": page, "total_count": len(all)} })
}
