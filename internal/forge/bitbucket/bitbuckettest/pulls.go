package bitbuckettest

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

var states = map[forge.State]string{forge.Open: "OPEN", forge.Closed: "DECLINED", forge.Merged: "MERGED"}

// short abbreviates a commit, as the API does in pull requests.
func short(commit string) map[string]any {
	return map[string]any{"type": "commit", "hash": commit[:12]}
}

func side(at forge.Ref, path string) map[string]any {
	return map[string]any{"branch": map[string]any{"name": at.Branch}, "commit": short(at.Commit), "repository": repository(path)}
}

func (s *Server) pull(r *forgetest.Repo, p *forgetest.PullRequest, whole bool) map[string]any {
	from := r.Path
	if p.Head.Fork != "" {
		from = p.Head.Fork
	}
	shape := map[string]any{
		"type": "pullrequest", "id": p.Number, "title": p.Title, "description": p.Body, "state": states[p.State], "draft": p.Draft,
		"author": person(p.Author), "source": side(p.Head, from), "destination": side(p.Base, r.Path), "merge_commit": nil, "closed_by": nil,
		"created_on": p.CreatedAt.Format(time.RFC3339Nano), "close_source_branch": false,
		"updated_on": p.CreatedAt.Add(time.Duration(p.Version) * time.Microsecond).Format(time.RFC3339Nano),
		"links":      map[string]any{"html": map[string]any{"href": s.URL + "/" + r.Path + "/pull-requests/" + strconv.Itoa(p.Number)}},
	}
	if p.State == forge.Merged {
		shape["merge_commit"] = short(p.MergeCommit)
	}
	if p.State != forge.Open {
		shape["closed_by"] = person(p.EndedBy)
	}
	if whole { // lists have neither
		shape["reviewers"] = forgetest.Shapes(s.reviewers[p], person)
		shape["participants"] = participants(p)
	}
	return shape
}

func participants(p *forgetest.PullRequest) []map[string]any {
	values := map[forge.ReviewDecision]any{forge.Approved: "approved", forge.ChangesRequested: "changes_requested"}
	all := []map[string]any{}
	for _, v := range p.Decisions() {
		all = append(all, map[string]any{
			"type": "participant", "user": person(v.Login), "role": "REVIEWER", "approved": v.Decision == forge.Approved, "state": values[v.Decision],
		})
	}
	return all
}

// condition matches a part of the parameter q.
var condition = regexp.MustCompile(`^(source|destination)\.branch\.name = "((?:[^"\\]|\\.)*)"$`)

func (c *call) listPulls() {
	query := c.URL.Query()
	var found []*forgetest.PullRequest
	for _, p := range slices.Backward(c.Repo.PullRequests) {
		matches := slices.Contains(query["state"], states[p.State]) || len(query["state"]) == 0 && p.State == forge.Open
		for part := range strings.SplitSeq(query.Get("q"), " AND ") {
			if part == "" {
				continue
			}
			is := condition.FindStringSubmatch(part)
			if is == nil {
				fail(c.Call, http.StatusBadRequest, "Invalid query")
				return
			}
			name := p.Head.Branch
			if is[1] == "destination" {
				name = p.Base.Branch
			}
			matches = matches && name == strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(is[2])
		}
		if matches {
			found = append(found, p)
		}
	}
	page(c, found, func(p *forgetest.PullRequest) map[string]any { return c.pull(c.Repo, p, false) })
}

// pullIn is what clients send of a pull request.
type pullIn struct {
	Title               string
	Description         *string
	Draft               bool
	Reviewers           []struct{ UUID string }
	Source, Destination struct{ Branch struct{ Name string } }
}

func (c *call) names(in pullIn) []string {
	var names []string
	for _, v := range in.Reviewers {
		for _, name := range c.World.Users {
			if uuid(name) == v.UUID {
				names = append(names, name)
			}
		}
	}
	return names
}

// openPull opens a pull request. One that is open between the same branches is edited instead.
func (c *call) openPull() {
	var in pullIn
	c.Read(&in)
	reviewers := c.names(in)
	if slices.Contains(reviewers, c.Actor) {
		fail(c.Call, http.StatusBadRequest, "The author cannot be included as a reviewer")
		return
	}
	n := forge.NewPullRequest{Head: in.Source.Branch.Name, Base: in.Destination.Branch.Name, Title: in.Title, Draft: in.Draft}
	if in.Description != nil {
		n.Body = *in.Description
	}
	for _, p := range c.Repo.PullRequests {
		if (forge.PullRequestFilter{State: forge.Open, Head: n.Head, Base: n.Base}).Matches(p.PullRequest) {
			err := c.Repo.EditPullRequest(c.Actor, p, forge.PullRequestEdit{Title: &n.Title, Body: &n.Body})
			c.say(err, http.StatusCreated, c.pull(c.Repo, p, true))
			return
		}
	}
	p, err := c.Repo.OpenPullRequest(c.Actor, n)
	if err != nil {
		c.say(err, 0, nil)
		return
	}
	c.reviewers[p] = reviewers
	c.JSON(http.StatusCreated, c.pull(c.Repo, p, true))
}

func (c *call) readPull() { c.JSON(http.StatusOK, c.pull(c.Repo, c.Pull, true)) }

// done answers with the pull request, or with the error of a rule.
func (c *call) done(err error) { c.say(err, http.StatusOK, c.pull(c.Repo, c.Pull, true)) }

// open reports whether the pull request is open, which edits, merges and declines need.
func (c *call) open() bool {
	if c.Pull.State != forge.Open {
		fail(c.Call, http.StatusBadRequest, "This pull request is already closed.")
		return false
	}
	return true
}

// editPull edits a pull request. Without reviewers it has none afterwards.
func (c *call) editPull() {
	var in pullIn
	c.Read(&in)
	if !c.open() {
		return
	}
	edit := forge.PullRequestEdit{Title: &in.Title, Body: in.Description}
	if base := in.Destination.Branch.Name; base != "" && base != c.Pull.Base.Branch {
		edit.Base = &base
	}
	err := c.Repo.EditPullRequest(c.Actor, c.Pull, edit)
	if err == nil {
		c.reviewers[c.Pull], c.Pull.Draft = c.names(in), in.Draft
	}
	c.done(err)
}

func (c *call) merge() {
	var in struct {
		Strategy string `json:"merge_strategy"`
	}
	c.Read(&in)
	if !c.open() {
		return
	}
	if len(c.Strategies) > 0 && !slices.Contains(c.Strategies, in.Strategy) {
		fail(c.Call, http.StatusBadRequest, "merge_strategy: "+in.Strategy+" is not an allowed merge strategy")
		return
	}
	if c.Moved != nil {
		c.Moved(c.Repo, c.Pull)
	}
	c.done(c.Repo.Merge(c.Actor, c.Pull, forge.Merge{}))
}

func (c *call) decline() {
	if c.open() {
		c.done(c.Repo.EditPullRequest(c.Actor, c.Pull, forge.PullRequestEdit{State: new(forge.Closed)}))
	}
}

// entry is an activity and when it was.
type entry struct {
	at    time.Time
	shape map[string]any
}

// activity lists the history of a pull request, the newest first.
func (c *call) activity() {
	var all []entry
	add := func(at time.Time, name string, shape map[string]any) {
		shape["date"] = at.Format(time.RFC3339Nano)
		all = append(all, entry{at, map[string]any{name: shape}})
	}
	for _, head := range c.Pull.Heads {
		if !c.Forgetful {
			at := c.Pull.Head
			at.Commit = head.Commit
			add(head.At, "update", map[string]any{"state": "OPEN", "source": side(at, c.Repo.Path), "author": person(c.Pull.Author)})
		}
	}
	for _, v := range c.Pull.Reviews {
		switch v.Decision {
		case forge.Approved:
			add(v.At, "approval", map[string]any{"user": person(v.Login)})
		case forge.ChangesRequested:
			add(v.At, "changes_requested", map[string]any{"user": person(v.Login)})
		case "":
			all = append(all, entry{v.At, map[string]any{"comment": map[string]any{"id": v.ID}}})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.at.Compare(a.at) })
	page(c, all, func(e entry) map[string]any { return e.shape })
}

func (c *call) remark(of *forge.Comment) map[string]any {
	id, _ := strconv.Atoi(of.ID)
	return map[string]any{
		"type": "pullrequest_comment", "id": id, "content": map[string]any{"raw": of.Body, "markup": "markdown"}, "user": person(of.Author),
		"created_on": of.CreatedAt.Format(time.RFC3339Nano), "deleted": false,
		"links": map[string]any{"html": map[string]any{"href": c.Server.URL + "/" + c.Repo.Path + "/pull-requests/" + strconv.Itoa(c.Pull.Number) + "/_/diff#comment-" + of.ID}},
	}
}

func (c *call) note(n *forgetest.Note) map[string]any {
	shape := c.remark(&forge.Comment{ID: n.ID, Author: n.Author, Body: n.Text, CreatedAt: c.Pull.CreatedAt})
	inline := map[string]any{"path": n.File, "from": nil}
	if n.Line > 0 {
		inline["to"] = n.Line
	}
	shape["inline"] = inline
	return shape
}

func (c *call) listComments() {
	all := append(forgetest.Shapes(c.Pull.Comments, c.remark), forgetest.Shapes(c.Pull.Notes, c.note)...)
	all = append(all, map[string]any{"type": "pullrequest_comment", "id": 1, "content": map[string]any{"raw": ""}, "deleted": true})
	page(c, all, func(m map[string]any) map[string]any { return m })
}

type commentIn struct {
	Content struct{ Raw string }
	Inline  *struct {
		Path string
		To   int
	}
}

func (c *call) addComment() {
	var in commentIn
	c.Read(&in)
	if in.Inline == nil {
		c.JSON(http.StatusCreated, c.remark(c.Repo.AddComment(c.Actor, c.Pull, in.Content.Raw)))
		return
	}
	n, err := c.Repo.AddNote(c.Pull, c.Pull.Head.Commit, forgetest.Note{Author: c.Actor, File: in.Inline.Path, Line: in.Inline.To, Text: in.Content.Raw})
	if err != nil {
		c.say(err, 0, nil)
		return
	}
	c.JSON(http.StatusCreated, c.note(n))
}

func (c *call) editComment() {
	var in commentIn
	c.Read(&in)
	if c.Comment.Author != c.Actor {
		fail(c.Call, http.StatusForbidden, "You don't have permission to edit this comment")
		return
	}
	c.Comment.Body = in.Content.Raw
	c.JSON(http.StatusOK, c.remark(c.Comment))
}

func (c *call) deleteNote() {
	c.Repo.RemoveNote(c.Note)
	c.Out.WriteHeader(http.StatusNoContent)
}
