package githubtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

func (c *call) createLabel() {
	var in forge.Label
	c.Read(&in)
	if strings.HasPrefix(in.Color, "#") {
		c.fail(422, "Validation Failed", object{"resource": "Label", "code": "invalid", "field": "color"})
		return
	}
	l, err := c.Repo.AddLabel(in)
	if err != nil {
		c.fail(422, "Validation Failed", object{"resource": "Label", "code": "already_exists", "field": "name"})
		return
	}
	c.JSON(201, labelOf(l))
}

// addLabels creates labels that do not exist, like GitHub.
func (c *call) addLabels() {
	var in []string
	c.Read(&in)
	for _, name := range in {
		l := c.Repo.Label(name)
		if l == nil {
			l, _ = c.Repo.AddLabel(forge.Label{Name: name, Color: forge.DefaultColor})
		}
		c.Repo.AddLabelTo(c.Actor, c.Pull, l.Name)
	}
	c.JSON(200, labelsOf(c.Repo, c.Pull.Labels))
}

func (c *call) removeLabel() {
	if !c.Repo.RemoveLabelFrom(c.Actor, c.Pull, c.PathValue("label")) {
		c.fail(404, "Label does not exist")
		return
	}
	c.JSON(200, labelsOf(c.Repo, c.Pull.Labels))
}

func (c *call) events() {
	page(c, forgetest.Shapes(c.Pull.History, func(e forgetest.LabelEvent) object {
		kind := map[bool]string{true: "labeled", false: "unlabeled"}[e.Added]
		return object{"id": 1, "event": kind, "actor": userOf(e.Actor), "label": object{"name": e.Label}, "created_at": e.Time}
	}))
}

func (c *call) commentOf(comment *forge.Comment) object {
	id, _ := strconv.Atoi(comment.ID)
	return object{
		"id": id, "user": userOf(comment.Author), "body": comment.Body, "created_at": comment.CreatedAt,
		"html_url": fmt.Sprintf("https://github.example.com/%s/issues/1#issuecomment-%d", c.Repo.Path, id),
	}
}

func (c *call) listComments() {
	page(c, forgetest.Shapes(c.Pull.Comments, c.commentOf))
}

func (c *call) createComment() {
	var in struct{ Body string }
	c.Read(&in)
	if !c.tooLong("", in.Body) {
		c.JSON(201, c.commentOf(c.Repo.AddComment(c.Actor, c.Pull, in.Body)))
	}
}

func (c *call) editComment() {
	var in struct{ Body string }
	c.Read(&in)
	c.Comment.Body = in.Body
	c.JSON(200, c.commentOf(c.Comment))
}

func (c *call) issueOf(i *forgetest.Issue) object {
	return object{
		"id": i.Number, "number": i.Number, "title": i.Title, "body": i.Body, "state": i.State, "user": userOf(i.Author),
		"html_url": fmt.Sprintf("https://github.example.com/%s/issues/%d", c.Repo.Path, i.Number),
		"labels":   labelsOf(c.Repo, i.Labels), "created_at": i.CreatedAt,
	}
}

// pullIssueOf returns the issue that belongs to a pull request.
func (c *call) pullIssueOf(p *forgetest.PullRequest) object {
	return object{
		"id": p.Number, "number": p.Number, "title": p.Title, "body": p.Body, "state": stateOf(p.State), "user": userOf(p.Author),
		"labels": labelsOf(c.Repo, p.Labels), "closed_by": userOf(p.EndedBy), "created_at": p.CreatedAt,
		"pull_request": object{"url": "https://github.example.com/api/v3/pulls/1"},
	}
}

func (c *call) listIssues() {
	query := c.URL.Query()
	label, state := query.Get("labels"), query.Get("state")
	var found []object
	for number := len(c.Repo.Issues) + len(c.Repo.PullRequests); number > 0; number-- {
		if p := c.Repo.PullRequest(number); p != nil && (state == "all" || state == stateOf(p.State)) && label == "" {
			found = append(found, c.pullIssueOf(p))
		}
		i := c.Repo.Issue(number)
		if i != nil && (state == "all" || state == string(i.State)) && (label == "" || slices.Contains(i.Labels, label)) {
			found = append(found, c.issueOf(i))
		}
	}
	page(c, found)
}

func (c *call) openIssue() {
	var in forge.NewIssue
	c.Read(&in)
	i, err := c.Repo.OpenIssue(c.Actor, in)
	if !c.tooLong(in.Title, in.Body) && !c.refuse("Issue", err) {
		c.JSON(201, c.issueOf(i))
	}
}

func (c *call) getIssue() {
	c.JSON(200, c.pullIssueOf(c.Pull))
}

func (c *call) editIssue() {
	var in forge.IssueEdit
	c.Read(&in)
	c.Issue.Edit(in)
	c.JSON(200, c.issueOf(c.Issue))
}

func statusOf(s forge.Status) object {
	out := object{
		"state": s.State, "context": s.Context, "description": s.Description, "target_url": nil,
		"created_at": s.Time, "updated_at": s.Time,
	}
	if s.URL != "" {
		out["target_url"] = s.URL
	}
	return out
}

// setStatus refuses descriptions that are too long, like GitHub.
// maxStatuses is how many statuses of a commit and context GitHub stores.
const maxStatuses = 1000

func (c *call) setStatus() {
	var in struct {
		Context, Description string
		State                forge.StatusState
		TargetURL            string `json:"target_url"`
	}
	c.Read(&in)
	if len([]rune(in.Description)) > 140 {
		c.fail(422, "Validation Failed", object{
			"resource": "Status", "code": "custom", "field": "description", "message": "description is too long (maximum is 140 characters)",
		})
		return
	}
	same := 0
	for _, s := range c.Repo.Statuses[c.PathValue("commit")] {
		if s.Context == in.Context {
			same++
		}
	}
	if same == maxStatuses {
		c.fail(422, "Validation Failed", object{
			"resource": "Status", "code": "custom", "message": "This SHA and context has reached the maximum number of statuses.",
		})
		return
	}
	s := forge.Status{Context: in.Context, State: in.State, Description: in.Description, URL: in.TargetURL}
	if err := c.Repo.SetStatus(c.Actor, c.PathValue("commit"), s); !c.refuse("Status", err) {
		c.JSON(201, statusOf(s))
	}
}

func (c *call) combinedStatus() {
	if !c.Repo.HasCommit(c.PathValue("commit")) {
		c.fail(422, "No commit found for SHA: "+c.PathValue("commit"))
		return
	}
	all := forgetest.Shapes(forge.LatestStatuses(c.Repo.Statuses[c.PathValue("commit")]), statusOf)
	slices.Reverse(all)
	statuses := forgetest.Page(c.Call, all, "per_page", 100)
	c.JSON(200, object{"state": "pending", "sha": c.PathValue("commit"), "total_count": len(all), "statuses": statuses})
}

func (c *call) checkRuns() {
	all := c.fake.CheckRuns[c.PathValue("commit")]
	c.JSON(200, object{"total_count": len(all), "check_runs": forgetest.Page(c.Call, all, "per_page", 100)})
}

func (c *call) rules() { page(c, c.fake.Rules[c.PathValue("name")]) }
