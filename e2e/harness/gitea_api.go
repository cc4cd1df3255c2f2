package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"
)

// Call calls Gitea's API. in is what is sent and out what comes back, both JSON; each may be nil.
func (g *Gitea) Call(ctx context.Context, as Account, method, path string, in, out any) error {
	return g.call(ctx, func(r *http.Request) { r.Header.Set("Authorization", "token "+as.Token) }, method, path, in, out)
}

func (g *Gitea) call(ctx context.Context, sign func(*http.Request), method, path string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, g.URL+"/api/v1"+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	sign(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case response.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

// NewOrganization creates an organization.
func (g *Gitea) NewOrganization(ctx context.Context, name string) error {
	return g.Call(ctx, g.Admin, http.MethodPost, "/orgs", map[string]any{"username": name}, nil)
}

// Repository is a private repository on a Gitea.
type Repository struct {
	gitea *Gitea
	// Path is organization/name.
	Path string
}

// NewRepository creates a private repository without a commit.
func (g *Gitea) NewRepository(ctx context.Context, organization, name string) (*Repository, error) {
	err := g.Call(ctx, g.Admin, http.MethodPost, "/orgs/"+organization+"/repos",
		map[string]any{"name": name, "private": true, "auto_init": false, "default_branch": "main"}, nil)
	return &Repository{gitea: g, Path: organization + "/" + name}, err
}

// URL is where the repository is cloned from.
func (r *Repository) URL() string { return r.gitea.URL + "/" + r.Path }

// urlWith is the URL with a credential in it, for the git program.
func (r *Repository) urlWith(a Account) string {
	return strings.Replace(r.URL(), "://", "://"+url.UserPassword(a.Name, a.Token).String()+"@", 1)
}

// Grant lets an account in: to "read" or to "write".
func (r *Repository) Grant(ctx context.Context, a Account, right string) error {
	return r.call(ctx, http.MethodPut, "/collaborators/"+a.Name, map[string]any{"permission": right}, nil)
}

// Hook has Gitea deliver what happens in the repository to a URL, signed with a secret.
func (r *Repository) Hook(ctx context.Context, to, secret string) error {
	return r.call(ctx, http.MethodPost, "/hooks", map[string]any{
		"type": "gitea", "active": true, "branch_filter": "*",
		"events": []string{"push", "create", "delete", "pull_request", "pull_request_label", "issue_comment", "status"},
		"config": map[string]any{"url": to, "content_type": "json", "secret": secret},
	}, nil)
}

// Head returns the commit of a branch.
func (r *Repository) Head(ctx context.Context, branch string) (string, error) {
	var found struct {
		Commit struct {
			ID string `json:"id"`
		} `json:"commit"`
	}
	err := r.call(ctx, http.MethodGet, "/branches/"+url.PathEscape(branch), nil, &found)
	return found.Commit.ID, err
}

// Pull is a pull request.
type Pull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	User   struct {
		Login string `json:"login"`
	} `json:"user"`
	Head struct {
		SHA string `json:"sha"`
		Ref string `json:"ref"`
	} `json:"head"`
	Labels []Label `json:"labels"`
	// Merged says whether it was merged, by whomever.
	Merged bool `json:"merged"`
}

// Label is a word that a pull request has.
type Label struct {
	Name string `json:"name"`
}

// OpenPull opens a pull request from one branch to another.
func (r *Repository) OpenPull(ctx context.Context, head, base, title string) (Pull, error) {
	var pull Pull
	err := r.call(ctx, http.MethodPost, "/pulls", map[string]any{"head": head, "base": base, "title": title}, &pull)
	return pull, err
}

// Pulls returns the open pull requests.
func (r *Repository) Pulls(ctx context.Context) ([]Pull, error) {
	var pulls []Pull
	err := r.call(ctx, http.MethodGet, "/pulls?state=open", nil, &pulls)
	return pulls, err
}

// PullsTo returns the pull requests to a branch, open or not, the newest first.
func (r *Repository) PullsTo(ctx context.Context, base string) ([]Pull, error) {
	var pulls []Pull
	err := r.call(ctx, http.MethodGet, "/pulls?state=all&limit=50&base_branch="+url.QueryEscape(base), nil, &pulls)
	slices.SortFunc(pulls, func(a, b Pull) int { return b.Number - a.Number })
	return pulls, err
}

// Merge merges a pull request as it was judged, and returns the commit that is then on the base branch.
// Gitea finds out in the background whether branches merge; until it knows, it asks to come again.
func (r *Repository) Merge(ctx context.Context, p Pull, base string) (string, error) {
	err := Until(ctx, 2*time.Minute, func(ctx context.Context) error { return r.TryMerge(ctx, p) })
	if err != nil {
		return "", err
	}
	return r.Head(ctx, base)
}

// TryMerge merges a pull request if Gitea lets it be merged now.
func (r *Repository) TryMerge(ctx context.Context, p Pull) error {
	return r.call(ctx, http.MethodPost, fmt.Sprintf("/pulls/%d/merge", p.Number),
		map[string]any{"Do": "merge", "head_commit_id": p.Head.SHA, "delete_branch_after_merge": true}, nil)
}

// Require lets pull requests to a branch be merged only after checks have passed.
func (r *Repository) Require(ctx context.Context, branch string, checks ...string) error {
	return r.call(ctx, http.MethodPost, "/branch_protections", map[string]any{
		"rule_name": branch, "enable_push": true, "enable_status_check": true, "status_check_contexts": checks,
	}, nil)
}

// Label puts a label on a pull request, as a person does who agrees to something.
func (r *Repository) Label(ctx context.Context, p Pull, label string) error {
	var labels []Label
	err := r.call(ctx, http.MethodPost, fmt.Sprintf("/issues/%d/labels", p.Number), map[string]any{"labels": []string{label}}, &labels)
	if err == nil && !slices.Contains(labels, Label{label}) {
		err = fmt.Errorf("label pull request %d: the repository has no label %q", p.Number, label) // Gitea says nothing
	}
	return err
}

// Comments returns the texts of the comments on a pull request, the oldest first.
func (r *Repository) Comments(ctx context.Context, p Pull) ([]string, error) {
	var found []struct {
		Body string `json:"body"`
	}
	err := r.call(ctx, http.MethodGet, fmt.Sprintf("/issues/%d/comments", p.Number), nil, &found)
	var texts []string
	for _, c := range found {
		texts = append(texts, c.Body)
	}
	return texts, err
}

// Status returns what is said about a commit under a context: "success", "failure"... Empty when nothing is.
func (r *Repository) Status(ctx context.Context, commit, about string) (string, error) {
	var found struct {
		Statuses []struct {
			Context string `json:"context"`
			Status  string `json:"status"`
		} `json:"statuses"`
	}
	err := r.call(ctx, http.MethodGet, "/commits/"+commit+"/status", nil, &found)
	for _, s := range found.Statuses {
		if s.Context == about {
			return s.Status, err
		}
	}
	return "", err
}

// Statuses returns everything that was ever said about a commit, the oldest first: "dev: pending Promoted".
func (r *Repository) Statuses(ctx context.Context, commit string) ([]string, error) {
	var found []struct {
		ID          int64  `json:"id"`
		Context     string `json:"context"`
		Status      string `json:"status"`
		Description string `json:"description"`
	}
	err := r.call(ctx, http.MethodGet, "/commits/"+commit+"/statuses?limit=50", nil, &found)
	sort.Slice(found, func(i, j int) bool { return found[i].ID < found[j].ID })
	var said []string
	for _, s := range found {
		said = append(said, s.Context+": "+s.Status+" "+s.Description)
	}
	return said, err
}

func (r *Repository) call(ctx context.Context, method, path string, in, out any) error {
	return r.gitea.Call(ctx, r.gitea.Admin, method, "/repos/"+r.Path+path, in, out)
}
