package azuredevops

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// workItem is a work item as the API describes it.
type workItem struct {
	ID     int `json:"id"`
	Fields struct {
		Title       string    `json:"System.Title"`
		Description string    `json:"System.Description"`
		State       string    `json:"System.State"`
		Tags        string    `json:"System.Tags"` // "one; two"
		CreatedBy   *identity `json:"System.CreatedBy"`
	} `json:"fields"`
}

// field names one of a work item's fields.
type field string

const (
	titleField       field = "System.Title"
	descriptionField field = "System.Description"
	stateField       field = "System.State"
	tagsField        field = "System.Tags"
	authorField      field = "System.CreatedBy"
)

// operation is one operation of a JSON patch; it sets a field.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

func set(f field, value string) operation { return operation{"add", "/fields/" + string(f), value} }

const patch = "application/json-patch+json"

// tag returns the tag that links work items to this repository. It replaces commas and semicolons: they separate tags.
func (r *Repository) tag() string {
	return "repository " + strings.NewReplacer(",", " ", ";", " ").Replace(r.name)
}

func (r *Repository) issue(w workItem, states stateByName) forge.Issue {
	i := forge.Issue{
		Number: w.ID, Title: w.Fields.Title, Body: fromHTML(w.Fields.Description), State: states.of(w.Fields.State),
		URL:    r.forge.site.URL() + rest.Path(r.organization, r.project, "_workitems", "edit", w.ID),
		Author: w.Fields.CreatedBy.name(), Labels: []string{},
	}
	for tag := range strings.SplitSeq(w.Fields.Tags, ";") {
		if tag = strings.TrimSpace(tag); tag != "" && !strings.EqualFold(tag, r.tag()) {
			i.Labels = append(i.Labels, tag)
		}
	}
	slices.Sort(i.Labels)
	return i
}

// atOnce is the most work items that one request can read.
const atOnce = 200

// FindIssues queries the work items that were opened for this repository, newest first.
func (r *Repository) FindIssues(ctx context.Context, f forge.IssueFilter) ([]forge.Issue, error) {
	states, err := r.states(ctx)
	if err != nil {
		return nil, err
	}
	var found struct {
		Items []struct {
			ID int `json:"id"`
		} `json:"workItems"`
	}
	err = r.Do(ctx, rest.Request{
		Op: "find issues", Right: workItems, Method: http.MethodPost, Path: "/wit/wiql", Out: &found, Repeatable: true,
		In: map[string]string{"query": r.query(f)},
	})
	if err != nil {
		return nil, err
	}
	var issues []forge.Issue
	for chunk := range slices.Chunk(found.Items, atOnce) {
		ids := make([]int, 0, len(chunk))
		for _, item := range chunk {
			ids = append(ids, item.ID)
		}
		var items values[workItem]
		err := r.Do(ctx, rest.Request{
			Op: "read issues", Right: workItems, Method: http.MethodPost, Path: "/wit/workitemsbatch", Out: &items, Repeatable: true,
			In: map[string]any{
				"ids": ids, "errorPolicy": "omit", "fields": []field{titleField, descriptionField, stateField, tagsField, authorField},
			},
		})
		if err != nil {
			return nil, err
		}
		for _, w := range items.Value {
			if i := r.issue(w, states); w.ID != 0 && f.Matches(i) {
				issues = append(issues, i)
			}
		}
	}
	slices.SortStableFunc(issues, func(a, b forge.Issue) int { return b.Number - a.Number })
	return issues, nil
}

// query returns a query in WIQL, the forge's query language.
func (r *Repository) query(f forge.IssueFilter) string {
	query := fmt.Sprintf("SELECT [System.Id] FROM WorkItems WHERE [System.TeamProject] = @project AND [System.WorkItemType] = %s"+
		" AND [System.Tags] CONTAINS %s", quote(r.forge.workItemType), quote(r.tag()))
	if f.Label != "" {
		query += " AND [System.Tags] CONTAINS " + quote(f.Label)
	}
	return query + " ORDER BY [System.Id] DESC"
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// OpenIssue creates a work item.
func (r *Repository) OpenIssue(ctx context.Context, n forge.NewIssue) (forge.Issue, error) {
	states, err := r.states(ctx)
	if err != nil {
		return forge.Issue{}, err
	}
	limits := r.forge.Limits()
	var created workItem
	err = r.Do(ctx, rest.Request{
		Op: "open issue", Right: workItems, Method: http.MethodPost, ContentType: patch, Out: &created,
		Path: rest.Path("wit", "workitems", "$"+r.forge.workItemType),
		In: []operation{
			set(titleField, fit(forge.OneLine(n.Title, limits.Title), limits.Title)),
			set(descriptionField, toHTML(fit(n.Body, limits.Body))),
			set(tagsField, strings.Join(slices.Concat([]string{r.tag()}, n.Labels), "; ")),
		},
	})
	if err != nil {
		return forge.Issue{}, err
	}
	return r.issue(created, states), nil
}

// EditIssue edits a work item. Several states can mean open or closed;
// EditIssue keeps the current state if it already means what is requested.
func (r *Repository) EditIssue(ctx context.Context, number int, e forge.IssueEdit) error {
	limits := r.forge.Limits()
	var in []operation
	if e.Title != nil {
		in = append(in, set(titleField, fit(forge.OneLine(*e.Title, limits.Title), limits.Title)))
	}
	if e.Body != nil {
		in = append(in, set(descriptionField, toHTML(fit(*e.Body, limits.Body))))
	}
	if e.State != nil {
		move, err := r.moveTo(ctx, number, *e.State)
		if err != nil {
			return err
		}
		in = append(in, move...)
	}
	if len(in) == 0 {
		return nil
	}
	return r.Do(ctx, rest.Request{
		Op: "edit issue", Right: workItems, Method: http.MethodPatch, ContentType: patch, In: in,
		Path: rest.Path("wit", "workitems", number),
	})
}

func (r *Repository) moveTo(ctx context.Context, number int, state forge.State) ([]operation, error) {
	states, err := r.states(ctx)
	if err != nil {
		return nil, err
	}
	var now workItem
	err = r.Do(ctx, rest.Request{
		Op: "read issue", Right: workItems, Path: rest.Path("wit", "workitems", number), Out: &now,
	})
	if err != nil || states.of(now.Fields.State) == state {
		return nil, err
	}
	name := states.first(state)
	if name == "" {
		return nil, r.Fail(forge.ErrInvalid, "edit issue", fmt.Sprintf("work items of type %q have no state that is %s", r.forge.workItemType, state))
	}
	return []operation{set(stateField, name)}, nil
}
