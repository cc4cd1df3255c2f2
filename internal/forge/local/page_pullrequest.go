package local

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local/syntax"
)

// maxListed is how many pull requests or issues a list shows.
const maxListed = 200

// listPage lists pull requests or issues.
type listPage struct {
	// Kind is the folder of the pages: "pulls" or "issues".
	Kind  string
	State forge.State
	Tabs  []forge.State
	Lines []listLine
	// Cut means that older ones are not listed.
	Cut bool
}

type listLine struct {
	Number              int
	Link, Title, Author string
	State               forge.State
	Draft               bool
	// From is the head of a pull request.
	From   string
	Labels []forge.Label
	// At is when it was opened or, if EndedBy is set, merged or closed by that user.
	At      time.Time
	EndedBy string
}

// stateOf returns the requested state of a list. It defaults to open.
func stateOf(r *request, states []forge.State) (forge.State, error) {
	state := forge.State(cmp.Or(r.FormValue("state"), string(forge.Open)))
	if !slices.Contains(states, state) {
		return "", invalid(fmt.Sprintf("%.60q is not a state; choose one of %q", state, states))
	}
	return state, nil
}

func (p *pages) pullRequests(r *request) error {
	repo, e, err := p.the(r, "pulls")
	if err != nil {
		return err
	}
	data := listPage{Kind: "pulls", Tabs: []forge.State{forge.Open, forge.Merged, forge.Closed}}
	if data.State, err = stateOf(r, data.Tabs); err != nil {
		return err
	}
	all, err := repo.FindPullRequests(r.Context(), forge.PullRequestFilter{State: data.State, Limit: maxListed + 1})
	if err != nil {
		return err
	}
	colors, err := p.colors(r.Context(), repo)
	if err != nil {
		return err
	}
	data.Cut = len(all) > maxListed
	for _, c := range all[:min(len(all), maxListed)] {
		line := listLine{
			Number: c.Number, Link: p.pathOf(e, "pulls", c.Number), Title: c.Title, Author: c.Author, State: c.State, Draft: c.Draft,
			From: c.Head.Branch, Labels: colors.of(c.Labels), At: c.CreatedAt,
		}
		if c.EndedBy != "" {
			line.At, line.EndedBy = c.EndedAt, c.EndedBy
		}
		data.Lines = append(data.Lines, line)
	}
	return p.render(r, http.StatusOK, "pullrequests", "Pull requests of "+e.path(), data)
}

// pathOf returns the link to the page of a pull request or an issue.
func (p *pages) pathOf(e entry, kind string, number int) string {
	return p.base() + "/" + e.path() + "/" + kind + "/" + strconv.Itoa(number)
}

// colors are the labels of a repository by name in lower case.
type colors map[string]forge.Label

func (p *pages) colors(ctx context.Context, repo *Repository) (colors, error) {
	labels, err := repo.Labels(ctx)
	all := colors{}
	for _, l := range labels {
		all[strings.ToLower(l.Name)] = l
	}
	return all, err
}

func (c colors) of(names []string) []forge.Label {
	var labels []forge.Label
	for _, name := range names {
		labels = append(labels, c[strings.ToLower(name)])
	}
	return labels
}

// pullRequestPage is one pull request.
type pullRequestPage struct {
	forge.PullRequest
	Link   string
	Body   template.HTML
	Labels []forge.Label
	// Offered are labels that can be added.
	Offered   []string
	Checks    []forge.Status
	Approvals []string
	// Missing are the base branch's requirements that are not met.
	Missing []string
	// Waiting means that it is merged as soon as all requirements are met.
	Waiting bool
	// Unfinished is the number of checks that have not succeeded, required or not.
	Unfinished int
	CanMerge   bool
	CanApprove bool
	Comments   []commentBox
	Diff       diff
}

type commentBox struct {
	forge.Comment
	Text template.HTML
}

// allowDeletions is offered in every repository, because a user has to add it and its name is hard to remember.
const allowDeletions = "kalypso/allow-deletions"

// one returns the number of a page's pull request or issue, and its repository like [pages.the].
func (p *pages) one(r *request, tab string) (int, *Repository, entry, error) {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return 0, nil, entry{}, notFound("it is not a number")
	}
	repo, e, err := p.the(r, tab)
	return number, repo, e, err
}

func (p *pages) pullRequest(r *request) error {
	number, repo, e, err := p.one(r, "pulls")
	if err != nil {
		return err
	}
	data := pullRequestPage{Link: p.pathOf(e, "pulls", number)}
	if data.PullRequest, err = repo.PullRequest(r.Context(), number); err != nil {
		return err
	}
	for _, step := range []func(context.Context, *Repository, entry, *pullRequestPage) error{p.addLabels, p.addReview, p.addComments, p.addDiff, p.addNotes} {
		if err := step(r.Context(), repo, e, &data); err != nil {
			return err
		}
	}
	data.Body = markdown(data.PullRequest.Body)
	return p.render(r, http.StatusOK, "pullrequest", data.Title, data)
}

func (p *pages) addLabels(ctx context.Context, repo *Repository, _ entry, data *pullRequestPage) error {
	all, err := p.colors(ctx, repo)
	if err != nil {
		return err
	}
	data.Labels = all.of(data.PullRequest.Labels)
	for name, l := range all {
		if !data.HasLabel(name) {
			data.Offered = append(data.Offered, l.Name)
		}
	}
	if _, known := all[allowDeletions]; !known {
		data.Offered = append(data.Offered, allowDeletions)
	}
	slices.Sort(data.Offered)
	return nil
}

func (p *pages) addReview(ctx context.Context, repo *Repository, e entry, data *pullRequestPage) error {
	c, err := repo.pullRequest(ctx, p.db, e, data.Number)
	if err != nil {
		return err
	}
	if data.Checks, err = p.statuses(ctx, e, c.Head.Commit); err != nil {
		return err
	}
	if data.Approvals, err = p.approvals(ctx, e, c); err != nil || c.State != forge.Open {
		return err
	}
	if data.Missing, err = p.missing(ctx, e, c); err != nil {
		return err
	}
	writable := repo.forge.account.may(Write, e.path())
	data.Waiting = c.auto != nil
	for _, s := range data.Checks {
		if s.State != forge.Success {
			data.Unfinished++
		}
	}
	data.CanMerge = writable && len(data.Missing) == 0 && data.Mergeable == forge.MergeableYes
	data.CanApprove = writable && !strings.EqualFold(c.Author, repo.who()) && !containsFold(data.Approvals, repo.who())
	return nil
}

func (p *pages) addComments(ctx context.Context, repo *Repository, e entry, data *pullRequestPage) error {
	comments, err := repo.comments(ctx, e, data.Number, "pulls")
	for _, c := range comments {
		data.Comments = append(data.Comments, commentBox{c, markdown(c.Body)})
	}
	return err
}

// addDiff adds the diff that a merge applies. A merged pull request is compared with its base before the merge.
func (p *pages) addDiff(ctx context.Context, _ *Repository, e entry, data *pullRequestPage) error {
	objects := p.open(e)
	base, err := objects.branch(data.Base.Branch)
	if err != nil {
		return err
	}
	if data.State == forge.Merged {
		if base, err = objects.parent(plumbing.NewHash(data.MergeCommit)); err != nil {
			return err
		}
	}
	changes, err := changesSince(ctx, objects, base, plumbing.NewHash(data.Head.Commit))
	if err != nil {
		return err
	}
	if data.Diff, err = diffOf(objects, changes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, paintFor)
	defer cancel()
	data.Diff.paint(syntax.New(ctx))
	return nil
}

// paintFor limits the time for highlighting a page. The rest stays plain.
const paintFor = 300 * time.Millisecond

// addNotes adds annotations to the diff.
func (p *pages) addNotes(ctx context.Context, _ *Repository, e entry, data *pullRequestPage) error {
	all, err := p.annotations(ctx, e, data.Number)
	data.Diff.annotate(all)
	return err
}

// pullRequestForm handles the page's forms, and redirects back to the page.
func (p *pages) pullRequestForm(r *request) error {
	number, repo, e, err := p.one(r, "pulls")
	if err != nil {
		return err
	}
	ctx, label := r.Context(), r.PostFormValue("label")
	switch action := r.PathValue("action"); action {
	case "merge":
		_, err = repo.MergePullRequest(ctx, number, forge.Merge{Head: r.PostFormValue("head"), Method: forge.MergeMethod(r.PostFormValue("method"))})
	case "approve":
		err = repo.Approve(ctx, number, r.PostFormValue("head"))
	case "ready":
		err = repo.Ready(ctx, number)
	case "close":
		err = repo.EditPullRequest(ctx, number, forge.PullRequestEdit{State: new(forge.Closed)})
	case "reopen":
		err = repo.EditPullRequest(ctx, number, forge.PullRequestEdit{State: new(forge.Open)})
	case "label":
		if err = repo.EnsureLabel(ctx, forge.Label{Name: label}); err == nil {
			err = repo.AddLabels(ctx, number, label)
		}
	case "unlabel":
		err = repo.RemoveLabel(ctx, number, label)
	case "comment":
		if strings.TrimSpace(r.PostFormValue("body")) != "" {
			_, err = repo.Comment(ctx, number, r.PostFormValue("body"))
		}
	default:
		err = notFound("the action does not exist")
	}
	if err != nil {
		return err
	}
	return p.back(r, p.pathOf(e, "pulls", number))
}
