package giteatest

import (
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

type object = map[string]any

func userOf(name string) object { return object{"id": forgetest.AccountID(name), "login": name} }

func (c *call) createRepository() {
	var in struct{ Name, Description string }
	c.Read(&in)
	r := c.fake.World.AddRepo(c.PathValue("org") + "/" + in.Name)
	if r == nil {
		c.fail(409, "The repository with the same name already exists.")
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

// pullOf returns a pull request as the API describes it: merged ones are closed.
func pullOf(base string, r *forgetest.Repo, p *forgetest.PullRequest) object {
	state := string(p.State)
	if p.State == forge.Merged {
		state = "closed"
	}
	out := object{
		"id": p.Number, "number": p.Number, "html_url": base + "/" + r.Path + "/pulls/1", "title": p.Title, "body": p.Body,
		"state": state, "draft": p.Draft, "user": userOf(p.Author), "labels": labelsOf(r, p.Labels),
		"mergeable": p.State == forge.Open, "merged": p.State == forge.Merged, "merged_by": nil, "merge_commit_sha": nil,
		"created_at": p.CreatedAt, "closed_at": nil,
		"base": object{"label": p.Base.Branch, "ref": p.Base.Branch, "sha": p.Base.Commit, "repo_id": r.ID, "repo": repoOf(r)},
		"head": object{"label": p.Head.Branch, "ref": p.Head.Branch, "sha": p.Head.Commit, "repo": repoOf(r)},
	}
	if p.Head.Fork != "" {
		out["head"].(object)["repo"] = object{"id": 1_000_000, "full_name": p.Head.Fork}
	}
	if p.State != forge.Open {
		out["closed_at"] = p.EndedAt
	}
	if p.State == forge.Merged {
		out["merged_by"], out["merge_commit_sha"] = userOf(p.EndedBy), p.MergeCommit
	}
	return out
}

func repoOf(r *forgetest.Repo) object {
	return object{"id": r.ID, "full_name": r.Path, "description": r.Description}
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
	var found []object
	for _, p := range slices.Backward(c.Repo.PullRequests) {
		open := p.State == forge.Open
		if base := query.Get("base_branch"); base != "" && base != p.Base.Branch ||
			query.Get("state") == "open" && !open || query.Get("state") == "closed" && open {
			continue
		}
		found = append(found, pullOf(c.fake.URL, c.Repo, p))
	}
	c.page(found)
}

func (c *call) getPull() {
	c.JSON(200, pullOf(c.fake.URL, c.Repo, c.Pull))
}

func (c *call) openPull() {
	var in struct{ Head, Base, Title, Body string }
	c.Read(&in)
	p, err := c.Repo.OpenPullRequest(c.Actor, forge.NewPullRequest{
		Head: in.Head, Base: in.Base, Title: in.Title, Body: in.Body, Draft: strings.HasPrefix(in.Title, "WIP:"),
	})
	if !c.refuse(err) {
		c.JSON(201, pullOf(c.fake.URL, c.Repo, p))
	}
}

func (c *call) editPull() {
	var in struct {
		Title, Base string
		Body        *string
		State       *forge.State
	}
	c.Read(&in)
	if in.State != nil && c.Pull.State == forge.Merged {
		c.fail(412, "cannot change state of this pull request, it was already merged")
		return
	}
	edit := forge.PullRequestEdit{Body: in.Body, State: in.State}
	if in.Title != "" {
		edit.Title = &in.Title
	}
	if in.Base != "" {
		edit.Base = &in.Base
	}
	if !c.refuse(c.Repo.EditPullRequest(c.Actor, c.Pull, edit)) {
		c.JSON(201, pullOf(c.fake.URL, c.Repo, c.Pull))
	}
}

func (c *call) mergePull() {
	var in struct {
		HeadCommitID string `json:"head_commit_id"`
		Later        bool   `json:"merge_when_checks_succeed"`
	}
	c.Read(&in)
	// An automatic merge is not compared with the head, and not refused for missing checks.
	if in.Later && c.Repo.AutoMerge(c.Actor, c.Pull, forge.Merge{}) == nil {
		c.JSON(201, nil)
		return
	}
	switch err := c.Repo.Merge(c.Actor, c.Pull, forge.Merge{Head: in.HeadCommitID}); {
	case c.Pull.State == forge.Closed:
		c.fail(404, "not found")
	case err == nil:
		c.JSON(200, nil)
	case c.Pull.State == forge.Merged:
		c.fail(405, "The PR is already merged")
	case strings.Contains(err.Error(), "checks"):
		c.fail(405, "Not all required status checks successful")
	default:
		c.fail(409, "head out of date")
	}
}

func (c *call) timeline() {
	events := forgetest.Shapes(c.Pull.History, func(e forgetest.LabelEvent) object {
		body := map[bool]string{true: "1"}[e.Added]
		return object{"type": "label", "user": userOf(e.Actor), "body": body, "label": object{"name": e.Label}}
	})
	if c.Pull.State == forge.Closed {
		events = append(events, object{"type": "close", "user": userOf(c.Pull.EndedBy), "label": nil})
	}
	c.unlinked(events)
}
