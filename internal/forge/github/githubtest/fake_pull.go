package githubtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

type object = map[string]any

func userOf(name string) object {
	if name == "" {
		return nil
	}
	kind := "User"
	if strings.HasSuffix(name, "[bot]") {
		kind = "Bot"
	}
	return object{"id": forgetest.AccountID(name), "login": name, "type": kind}
}

func repoOf(r *forgetest.Repo) object {
	return object{"id": r.ID, "full_name": r.Path, "html_url": "https://github.example.com/" + r.Path, "description": r.Description}
}

func (c *call) createRepository() {
	var in struct{ Name, Description string }
	c.Read(&in)
	r := c.fake.World.AddRepo(c.PathValue("org") + "/" + in.Name)
	if r == nil {
		c.fail(422, "Repository creation failed.", object{
			"resource": "Repository", "code": "custom", "field": "name", "message": "name already exists on this account",
		})
		return
	}
	r.Description = in.Description
	c.JSON(201, repoOf(r))
}

func (c *call) getRepository() { c.JSON(200, repoOf(c.Repo)) }

func (c *call) removeRepository() {
	c.fake.World.RemoveRepo(c.Repo)
	c.JSON(204, nil)
}

// pullOf returns a pull request as in a list: merged ones are closed, and the merging account is missing.
func pullOf(r *forgetest.Repo, p *forgetest.PullRequest) object {
	end := func(ref forge.Ref) object {
		repo := repoOf(r)
		if ref.Fork != "" {
			repo = object{"id": 1_000_000, "full_name": ref.Fork}
		}
		return object{"label": "acme:" + ref.Branch, "ref": ref.Branch, "sha": ref.Commit, "repo": repo}
	}
	out := object{
		"id": p.Number, "node_id": fmt.Sprintf("PR_%s_%d", r.Path, p.Number), "number": p.Number,
		"html_url": fmt.Sprintf("https://github.example.com/%s/pull/%d", r.Path, p.Number), "title": p.Title, "body": p.Body,
		"state": stateOf(p.State), "draft": p.Draft, "user": userOf(p.Author), "labels": labelsOf(r, p.Labels),
		"created_at": p.CreatedAt, "updated_at": p.CreatedAt, "closed_at": nil, "merged_at": nil,
		"merge_commit_sha": strings.Repeat("e", 40), "head": end(p.Head), "base": end(p.Base),
	}
	if p.Body == "" {
		out["body"] = nil
	}
	if p.State != forge.Open {
		out["closed_at"] = p.EndedAt
	}
	if p.State == forge.Merged {
		out["merged_at"], out["merge_commit_sha"] = p.EndedAt, p.MergeCommit
	}
	return out
}

// fullPullOf returns a single pull request.
func fullPullOf(r *forgetest.Repo, p *forgetest.PullRequest) object {
	out := pullOf(r, p)
	out["merged"], out["merged_by"], out["mergeable"] = p.State == forge.Merged, nil, nil
	switch p.State {
	case forge.Merged:
		out["merged_by"] = userOf(p.EndedBy)
	case forge.Open:
		out["mergeable"] = true
	}
	return out
}

func stateOf(s forge.State) string {
	if s == forge.Open {
		return "open"
	}
	return "closed"
}

func labelsOf(r *forgetest.Repo, names []string) []object {
	out := []object{}
	for _, name := range names {
		if l := r.Label(name); l != nil {
			out = append(out, labelOf(l))
		}
	}
	return out
}

func labelOf(l *forgetest.LabelEntry) object {
	return object{"id": l.ID, "name": l.Name, "color": l.Color, "description": l.Description}
}

func (c *call) listPulls() {
	query := c.URL.Query()
	head := strings.TrimPrefix(query.Get("head"), "acme:")
	var found []object
	for _, p := range slices.Backward(c.Repo.PullRequests) {
		if state := query.Get("state"); state != "all" && state != stateOf(p.State) ||
			query.Get("base") != "" && query.Get("base") != p.Base.Branch || head != "" && (head != p.Head.Branch || p.Head.Fork != "") {
			continue
		}
		found = append(found, pullOf(c.Repo, p))
	}
	page(c, found)
}

func (c *call) getPull() {
	c.JSON(200, fullPullOf(c.Repo, c.Pull))
}

// openPull refuses texts that are too long, like GitHub.
func (c *call) openPull() {
	var in struct {
		Head, Base, Title, Body string
		Draft                   bool
	}
	c.Read(&in)
	p, err := c.Repo.OpenPullRequest(c.Actor, forge.NewPullRequest{Head: in.Head, Base: in.Base, Title: in.Title, Body: in.Body, Draft: in.Draft})
	if !c.tooLong(in.Title, in.Body) && !c.refuse("PullRequest", err) {
		c.JSON(201, fullPullOf(c.Repo, p))
	}
}

func (c *call) tooLong(title, body string) bool {
	field := ""
	switch {
	case len([]rune(title)) > 256:
		field = "title"
	case len([]rune(body)) > 65_536:
		field = "body"
	default:
		return false
	}
	c.fail(422, "Validation Failed", object{"resource": "Issue", "code": "custom", "field": field, "message": field + " is too long"})
	return true
}

func (c *call) editPull() {
	var in struct {
		Title, Body, Base *string
		State             *forge.State
	}
	c.Read(&in)
	if in.State != nil && *in.State == forge.Open && c.Pull.State == forge.Merged {
		c.fail(422, "Validation Failed", object{
			"resource": "PullRequest", "code": "invalid", "field": "state",
			"message": "state cannot be changed. The pull request cannot be reopened.",
		})
		return
	}
	if in.State != nil && *in.State == forge.Closed && c.Pull.State == forge.Merged {
		in.State = nil
	}
	if in.Title != nil && c.tooLong(*in.Title, "") || in.Body != nil && c.tooLong("", *in.Body) {
		return
	}
	edit := forge.PullRequestEdit{Title: in.Title, Body: in.Body, Base: in.Base, State: in.State}
	if !c.refuse("PullRequest", c.Repo.EditPullRequest(c.Actor, c.Pull, edit)) {
		c.JSON(200, fullPullOf(c.Repo, c.Pull))
	}
}

func (c *call) mergePull() {
	var in struct {
		SHA    string
		Method string `json:"merge_method"`
	}
	c.Read(&in)
	if c.fake.Methods != nil && !slices.Contains(c.fake.Methods, cmp.Or(in.Method, "merge")) {
		c.fail(405, map[string]string{"": "Merge commits", "merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}[in.Method]+
			" are not allowed on this repository.")
		return
	}
	err := c.Repo.Merge(c.Actor, c.Pull, forge.Merge{Head: in.SHA})
	var refused *forge.Error
	switch {
	case err == nil:
		c.JSON(200, object{"sha": c.Pull.MergeCommit, "merged": true, "message": "Pull Request successfully merged"})
	case errors.As(err, &refused) && strings.Contains(refused.Error(), "merge queue"):
		c.fail(405, refused.Detail)
	case strings.Contains(err.Error(), "checks"):
		c.fail(405, "Required status check is expected.")
	case strings.Contains(err.Error(), "modified"):
		c.fail(409, "Head branch was modified. Review and try the merge again.")
	default:
		c.fail(405, "Pull Request is not mergeable")
	}
}
