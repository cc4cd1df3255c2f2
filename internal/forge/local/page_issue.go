package local

import (
	"html/template"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// issuePage is one issue.
type issuePage struct {
	forge.Issue
	Link   string
	Body   template.HTML
	Labels []forge.Label
}

func (p *pages) issues(r *request) error {
	repo, e, err := p.the(r, "issues")
	if err != nil {
		return err
	}
	data := listPage{Kind: "issues", Tabs: []forge.State{forge.Open, forge.Closed}}
	if data.State, err = stateOf(r, data.Tabs); err != nil {
		return err
	}
	all, err := repo.FindIssues(r.Context(), forge.IssueFilter{State: data.State})
	if err != nil {
		return err
	}
	colors, err := p.colors(r.Context(), repo)
	if err != nil {
		return err
	}
	data.Cut = len(all) > maxListed
	for _, i := range all[:min(len(all), maxListed)] {
		data.Lines = append(data.Lines, listLine{
			Number: i.Number, Link: p.pathOf(e, "issues", i.Number), Title: i.Title, Author: i.Author, State: i.State, Labels: colors.of(i.Labels),
		})
	}
	return p.render(r, http.StatusOK, "issues", "Issues of "+e.path(), data)
}

func (p *pages) issue(r *request) error {
	number, repo, e, err := p.one(r, "issues")
	if err != nil {
		return err
	}
	data := issuePage{Link: p.pathOf(e, "issues", number)}
	if data.Issue, err = repo.Issue(r.Context(), number); err != nil {
		return err
	}
	colors, err := p.colors(r.Context(), repo)
	if err != nil {
		return err
	}
	data.Labels, data.Body = colors.of(data.Issue.Labels), markdown(data.Issue.Body)
	return p.render(r, http.StatusOK, "issue", data.Title, data)
}

// issueForm closes or reopens an issue.
func (p *pages) issueForm(r *request) error {
	number, repo, e, err := p.one(r, "issues")
	if err != nil {
		return err
	}
	states := map[string]forge.State{"close": forge.Closed, "reopen": forge.Open}
	state, ok := states[r.PathValue("action")]
	if !ok {
		return notFound("the action does not exist")
	}
	if err := repo.EditIssue(r.Context(), number, forge.IssueEdit{State: &state}); err != nil {
		return err
	}
	return p.back(r, p.pathOf(e, "issues", number))
}
