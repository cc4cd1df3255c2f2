package bitbucketservertest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

var states = map[forge.State]string{forge.Open: "OPEN", forge.Closed: "DECLINED", forge.Merged: "MERGED"}

func (s *Server) pull(r *forgetest.Repo, p *forgetest.PullRequest) map[string]any {
	from := r.Path
	if p.Head.Fork != "" {
		from = p.Head.Fork
	}
	side := func(at forge.Ref, path string) map[string]any {
		return map[string]any{
			"id": heads + at.Branch, "displayId": at.Branch, "latestCommit": at.Commit, "repository": place(path), "type": "BRANCH",
		}
	}
	reviewers := []map[string]any{}
	for _, name := range s.reviewers[p] {
		reviewers = append(reviewers, map[string]any{"user": person(name), "role": "REVIEWER", "approved": false, "status": "UNAPPROVED"})
	}
	parts := strings.Split(r.Path, "/")
	shape := map[string]any{
		"id": p.Number, "version": p.Version, "title": p.Title, "description": p.Body, "state": states[p.State], "draft": p.Draft,
		"open": p.State == forge.Open, "closed": p.State != forge.Open, "locked": false, "createdDate": p.CreatedAt.UnixMilli(),
		"fromRef": side(p.Head, from), "toRef": side(p.Base, r.Path), "reviewers": reviewers, "participants": []any{},
		"author": map[string]any{"user": person(p.Author), "role": "AUTHOR", "approved": false, "status": "UNAPPROVED"},
		"links": map[string]any{"self": []map[string]any{{
			"href": s.URL + "/projects/" + parts[1] + "/repos/" + parts[2] + "/pull-requests/" + strconv.Itoa(p.Number),
		}}},
	}
	if p.State != forge.Open {
		shape["closedDate"] = p.EndedAt.UnixMilli()
	}
	if p.State == forge.Merged {
		shape["properties"] = map[string]any{"mergeCommit": map[string]any{"id": p.MergeCommit, "displayId": p.MergeCommit[:11]}}
	}
	return shape
}

func (c *call) listPulls() {
	query := c.URL.Query()
	var found []*forgetest.PullRequest
	for _, p := range slices.Backward(c.Repo.PullRequests) {
		at := p.Base
		if query.Get("direction") == "OUTGOING" {
			if at = p.Head; p.Head.Fork != "" {
				continue
			}
		}
		state := query.Get("state")
		if (state == "ALL" || state == states[p.State] || state == "" && p.State == forge.Open) &&
			(query.Get("at") == "" || query.Get("at") == heads+at.Branch) {
			found = append(found, p)
		}
	}
	page(c, found, func(p *forgetest.PullRequest) map[string]any { return c.pull(c.Repo, p) })
}

// pullIn is what clients send of a pull request.
type pullIn struct {
	Version            *int
	Title, Description *string
	Draft              bool
	Reviewers          []struct{ User struct{ Name string } }
	FromRef, ToRef     *struct{ ID string }
}

func (in pullIn) names() []string {
	var names []string
	for _, v := range in.Reviewers {
		names = append(names, v.User.Name)
	}
	return names
}

func branchOf(at *struct{ ID string }) string {
	if at == nil {
		return ""
	}
	return strings.TrimPrefix(at.ID, heads)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *call) openPull() {
	var in pullIn
	c.Read(&in)
	if slices.Contains(in.names(), c.Actor) {
		fail(c.Call, http.StatusConflict, "pull.InvalidPullRequestReviewersException", "The author cannot review")
		return
	}
	p, err := c.Repo.OpenPullRequest(c.Actor, forge.NewPullRequest{
		Head: branchOf(in.FromRef), Base: branchOf(in.ToRef), Title: text(in.Title), Body: text(in.Description), Draft: in.Draft,
	})
	if err != nil {
		c.say(err, 0, nil)
		return
	}
	c.reviewers[p] = in.names()
	c.JSON(http.StatusCreated, c.pull(c.Repo, p))
}

func (c *call) readPull() { c.JSON(http.StatusOK, c.pull(c.Repo, c.Pull)) }

// editPull replaces what a pull request says. Without reviewers it has none afterwards.
func (c *call) editPull() {
	var in pullIn
	c.Read(&in)
	if in.Version == nil || *in.Version != c.Pull.Version {
		c.outOfDate()
		return
	}
	if c.Pull.State != forge.Open {
		fail(c.Call, http.StatusConflict, "pull.IllegalPullRequestStateException", "This pull request is not open.")
		return
	}
	edit := forge.PullRequestEdit{Title: in.Title, Body: in.Description}
	if base := branchOf(in.ToRef); base != "" && base != c.Pull.Base.Branch {
		edit.Base = &base
	}
	err := c.Repo.EditPullRequest(c.Actor, c.Pull, edit)
	if err == nil {
		c.reviewers[c.Pull], c.Pull.Draft = in.names(), in.Draft
	}
	c.done(err)
}

// done answers with the pull request, or with the error of a rule.
func (c *call) done(err error) { c.say(err, http.StatusOK, c.pull(c.Repo, c.Pull)) }

func (c *call) outOfDate() {
	fail(c.Call, http.StatusConflict, "pull.PullRequestOutOfDateException",
		"You are attempting to modify a pull request based on out-of-date information.")
}

// current reports whether a request names the version of its pull request.
func (c *call) current() bool {
	version, err := strconv.Atoi(c.URL.Query().Get("version"))
	if err != nil || version != c.Pull.Version {
		c.outOfDate()
		return false
	}
	return true
}

func (c *call) tryMerge() {
	if c.Pull.State != forge.Open {
		fail(c.Call, http.StatusConflict, "pull.IllegalPullRequestStateException", "This pull request is not open.")
		return
	}
	c.JSON(http.StatusOK, map[string]any{"canMerge": true, "conflicted": false, "outcome": "CLEAN"})
}

func (c *call) merge() {
	var in struct{ StrategyID, Message string }
	c.Read(&in)
	if !c.current() {
		return
	}
	if len(c.Strategies) > 0 && !slices.Contains(c.Strategies, in.StrategyID) {
		fail(c.Call, http.StatusConflict, "scm.UnknownMergeStrategyException", "The merge strategy "+in.StrategyID+" is not enabled for this repository.")
		return
	}
	if c.Moved != nil {
		c.Moved(c.Repo, c.Pull)
	}
	c.done(c.Repo.Merge(c.Actor, c.Pull, forge.Merge{}))
}

func (c *call) decline() { c.become(forge.Closed) }

func (c *call) reopen() { c.become(forge.Open) }

func (c *call) become(state forge.State) {
	if !c.current() {
		return
	}
	if c.Pull.State == state || c.Pull.State == forge.Merged {
		fail(c.Call, http.StatusConflict, "pull.IllegalPullRequestStateException", "This pull request is "+string(c.Pull.State)+".")
		return
	}
	c.done(c.Repo.EditPullRequest(c.Actor, c.Pull, forge.PullRequestEdit{State: &state}))
}

// entry is an activity and when it was.
type entry struct {
	at    time.Time
	shape map[string]any
}

// activities lists the history of a pull request, the newest first. Notes have no time in the world; they are the newest.
func (c *call) activities() {
	var all []entry
	add := func(at time.Time, action, who string, more map[string]any) {
		shape := map[string]any{"id": len(all) + 1, "createdDate": at.UnixMilli(), "user": person(who), "action": action}
		for name, value := range more {
			shape[name] = value
		}
		all = append(all, entry{at, shape})
	}
	p := c.Pull
	add(p.CreatedAt, "OPENED", p.Author, nil)
	for i, head := range p.Heads {
		if i > 0 {
			add(head.At, "RESCOPED", p.Author, map[string]any{"fromHash": head.Commit, "previousFromHash": p.Heads[i-1].Commit})
		}
	}
	actions := map[forge.ReviewDecision]string{forge.Approved: "APPROVED", forge.ChangesRequested: "REVIEWED", forge.Withdrawn: "UNAPPROVED"}
	for _, v := range p.Reviews {
		if v.Decision != "" {
			add(v.At, actions[v.Decision], v.Login, nil)
			continue
		}
		add(v.At, "COMMENTED", v.Login, map[string]any{"commentAction": "ADDED", "comment": map[string]any{
			"id": v.ID, "version": 0, "text": "a comment", "author": person(v.Login), "createdDate": v.At.UnixMilli(),
		}})
	}
	for _, remark := range p.Comments {
		add(remark.CreatedAt, "COMMENTED", remark.Author, map[string]any{"commentAction": "ADDED", "comment": c.commentShape(remark)})
	}
	switch p.State {
	case forge.Merged:
		add(p.EndedAt, "MERGED", p.EndedBy, map[string]any{"commit": map[string]any{"id": p.MergeCommit, "displayId": p.MergeCommit[:11]}})
	case forge.Closed:
		add(p.EndedAt, "DECLINED", p.EndedBy, nil)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.at.Compare(a.at) })
	for _, n := range p.Notes {
		anchor := map[string]any{"path": n.File, "fileType": "TO", "diffType": "EFFECTIVE", "orphaned": n.Outdated}
		if n.Line > 0 {
			anchor["line"], anchor["lineType"] = n.Line, "ADDED"
		}
		all = append([]entry{{shape: map[string]any{
			"id": 1_000_000 + number(n.ID), "createdDate": p.CreatedAt.UnixMilli(), "user": person(n.Author), "action": "COMMENTED",
			"commentAction": "ADDED", "commentAnchor": anchor, "comment": c.noteShape(n),
		}}}, all...)
	}
	page(c, all, func(e entry) map[string]any { return e.shape })
}

func number(id string) int {
	n, _ := strconv.Atoi(id)
	return n
}

func (c *call) commentShape(of *forge.Comment) map[string]any {
	return map[string]any{
		"id": number(of.ID), "version": c.versions[of.ID], "text": of.Body, "author": person(of.Author), "createdDate": of.CreatedAt.UnixMilli(),
		"severity": "NORMAL", "state": "OPEN",
	}
}

func (c *call) noteShape(n *forgetest.Note) map[string]any {
	return map[string]any{"id": number(n.ID), "version": 0, "text": n.Text, "author": person(n.Author), "severity": "NORMAL", "state": "OPEN"}
}

func (c *call) comment() {
	var in struct {
		Text   string
		Anchor *struct {
			Path string
			Line int
		}
	}
	c.Read(&in)
	if len([]rune(in.Text)) > 32_768 {
		fail(c.Call, http.StatusBadRequest, "ArgumentValidationException", "The comment is too long.")
		return
	}
	if in.Anchor == nil {
		c.JSON(http.StatusCreated, c.commentShape(c.Repo.AddComment(c.Actor, c.Pull, in.Text)))
		return
	}
	n, err := c.Repo.AddNote(c.Pull, c.Pull.Head.Commit, forgetest.Note{Author: c.Actor, File: in.Anchor.Path, Line: in.Anchor.Line, Text: in.Text})
	if err != nil {
		c.say(err, 0, nil)
		return
	}
	c.JSON(http.StatusCreated, c.noteShape(n))
}

func (c *call) readComment() {
	if found, on := c.Repo.Comment(c.PathValue("remark")); found != nil && on == c.Pull {
		c.JSON(http.StatusOK, c.commentShape(found))
		return
	}
	if n, on := c.Repo.Note(c.PathValue("remark")); n != nil && on == c.Pull {
		c.JSON(http.StatusOK, c.noteShape(n))
		return
	}
	refuse(c.Call, forgetest.NoComment)
}

func (c *call) editComment() {
	var in struct {
		Text    string
		Version int
	}
	c.Read(&in)
	if in.Version != c.versions[c.Comment.ID] {
		fail(c.Call, http.StatusConflict, "comment.CommentOutOfDateException", "You are attempting to modify a comment based on out-of-date information.")
		return
	}
	c.Comment.Body = in.Text
	c.versions[c.Comment.ID]++
	c.JSON(http.StatusOK, c.commentShape(c.Comment))
}

func (c *call) deleteNote() {
	c.Repo.RemoveNote(c.Note)
	c.Out.WriteHeader(http.StatusNoContent)
}
