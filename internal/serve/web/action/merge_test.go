package action_test

import (
	"context"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

const (
	gitOps   = "https://git.example.com/acme/gitops"
	proposed = "abcdef0000000000000000000000000000000000"
)

// host is a forge with a change of each kind.
type host struct {
	anyForge
	files, proposal forge.PullRequest
	statuses        []forge.Status
	// refuses is the error of merges; merged are the merges so far.
	refuses error
	merged  []forge.Merge
}

type (
	anyForge      = forge.Forge
	anyRepository = forge.Repository
)

func newHost() *host {
	change := func(number int, title, head string) forge.PullRequest {
		mark := pullrequest.Mark{Name: "prod", Digest: "d", Commit: proposed}
		return forge.PullRequest{
			Number: number, Title: title, URL: "https://git.example.com/pulls/1", State: forge.Open, Body: mark.String(), Author: "kalypso",
			Head: forge.Ref{Branch: head, Commit: proposed}, Base: forge.Ref{Branch: "prod"},
		}
	}
	return &host{files: change(7, "prod: 3 removed", "kalypso/prod"), proposal: change(8, "promote", promote.ProposalBranch("prod"))}
}

func (h *host) Forge(string) (forge.Forge, error) { return h, nil }
func (h *host) Repository(url string) (forge.Repository, error) {
	return repository{host: h, url: url}, nil
}

type repository struct {
	anyRepository
	*host
	url string
}

func (r repository) PullRequest(_ context.Context, number int) (forge.PullRequest, error) {
	for _, c := range []forge.PullRequest{r.files, r.proposal} {
		if c.Number == number {
			return c, nil
		}
	}
	return forge.PullRequest{}, &forge.Error{Kind: forge.ErrNotFound, Op: "read change"}
}

func (r repository) FindPullRequests(_ context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	if r.url == controlPlane && f.Matches(r.proposal) {
		return []forge.PullRequest{r.proposal}, nil
	}
	return nil, nil
}

func (r repository) Statuses(context.Context, string) ([]forge.Status, error) { return r.statuses, nil }

func (r repository) MergePullRequest(_ context.Context, _ int, m forge.Merge) (string, error) {
	if r.refuses == nil {
		r.host.merged = append(r.host.merged, m)
	}
	return proposed, r.refuses
}

const mergePath = "/environments/prod/merge"

func TestApprove(t *testing.T) {
	w := newWorld(t)
	w.standings[1].Proposals = []promote.Proposal{{Proposal: decide.Proposal{From: present, Commit: next, State: decide.ProposalOpen}}}
	b := w.browser(access.Operator)
	for of, want := range map[string][]string{
		"files":    {"#7 prod: 3 removed", "compared with was", "−3 removed", "Merge #7"},
		"proposal": {"#8 promote", "with " + next, "Merge #8"},
	} {
		page := b.see(mergePath + "?of=" + of)
		for _, text := range want {
			if !strings.Contains(page.text, text) {
				t.Errorf("%s: it does not show %q:\n%s", of, text, page.text)
			}
		}
		w.host.merged = nil
		if a := b.confirm(mergePath + "?of=" + of); a.status != http.StatusSeeOther {
			t.Errorf("%s: got %d\n%s", of, a.status, a.text)
		}
		if len(w.host.merged) != 1 || w.host.merged[0].Head != proposed || w.host.merged[0].Message != "Merged by ada: because" {
			t.Errorf("%s: merged %+v", of, w.host.merged)
		}
	}
	trail, err := w.ledger.AuditEntries(t.Context(), ledger.AuditQuery{Limit: 10})
	must(t, err)
	if len(trail) != 2 || trail[0].Action != "merge" || trail[0].Subject != "prod" || !strings.Contains(trail[0].Detail, proposed) || !strings.HasPrefix(trail[0].By, "ada") {
		t.Errorf("the audit trail has %+v", trail)
	}
	if len(w.spoken) != 2 {
		t.Errorf("the rounds were notified of %q", w.spoken)
	}
}

// The manifests of an aborted commit are not merged from here; the pull request with another commit is.
func TestApproveDoesNotMergeWhatWasAborted(t *testing.T) {
	w := newWorld(t)
	w.standings[1].Phase, w.standings[1].Reason = decide.TakenBack, "1111111 was aborted by anna: it breaks"
	w.standings[1].Proposals = []promote.Proposal{{Proposal: decide.Proposal{From: present, Commit: next, State: decide.ProposalOpen}}}
	b := w.browser(access.Operator)
	form := b.see(mergePath + "?of=proposal").fields()
	form.Set("of", "files")
	for _, a := range []seen{b.see(mergePath + "?of=files"), b.send(mergePath+"?of=files", form)} {
		if !strings.Contains(a.text, "It is not to be merged: 1111111 was aborted by anna: it breaks.") || a.status == http.StatusSeeOther {
			t.Errorf("got %d\n%s", a.status, a.text)
		}
	}
	if len(w.host.merged) > 0 {
		t.Errorf("merged %+v", w.host.merged)
	}
	if a := b.confirm(mergePath + "?of=proposal"); a.status != http.StatusSeeOther || len(w.host.merged) != 1 {
		t.Errorf("the other commit: got %d\n%s", a.status, a.text)
	}
}

// The page marks characters that could disguise what is merged.
func TestApproveMarksInvisibleCharacters(t *testing.T) {
	w := newWorld(t)
	w.host.files.Title, w.host.files.Head.Branch = "prod: 3\u202e removed", "kalypso/prod\u200b"
	text := html.UnescapeString(w.browser(access.Operator).see(mergePath + "?of=files").text)
	for _, want := range []string{"prod: 3⟨U+202E⟩ removed", "kalypso/prod⟨U+200B⟩"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q:\n%s", want, text)
		}
	}
}

// The page says what blocks a merge and links to the forge; nothing is merged.
func TestApproveRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*host)
		want   string
	}{
		"pushed to":   {func(h *host) { h.files.Head.Commit = next }, "commits were pushed to its branch"},
		"a fork":      {func(h *host) { h.files.Head.Fork = "stranger/gitops" }, "commits were pushed to its branch"},
		"a draft":     {func(h *host) { h.files.Draft = true }, "It is a draft"},
		"merged":      {func(h *host) { h.files.State = forge.Merged }, "It is already merged"},
		"in conflict": {func(h *host) { h.files.Mergeable = forge.MergeableNo }, "It conflicts with its base branch"},
		"needs consent": {func(h *host) {
			h.statuses = []forge.Status{{Context: "kalypso/deletions", State: forge.Pending, Description: "3 removals"}}
		}, "kalypso/deletions is pending"},
		"not there": {func(h *host) { h.files.Number = 0 }, "No open pull request"},
		"refused by law": {func(h *host) {
			h.refuses = &forge.Error{Kind: forge.ErrConflict, Op: "merge change", Detail: "two reviews are missing"}
		}, "two reviews are missing"},
		"not allowed": {func(h *host) { h.refuses = &forge.Error{Kind: forge.ErrDenied, Op: "merge change"} }, "The forge refused to merge it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser(access.Operator)
			form := b.see(mergePath).fields()
			test.change(w.host)
			for _, a := range []seen{b.see(mergePath), b.send(mergePath, form)} {
				if a.status == http.StatusSeeOther || w.host.refuses == nil && !strings.Contains(a.text, test.want) {
					t.Errorf("got %d, want %q:\n%s", a.status, test.want, a.text)
				}
			}
			if a := b.send(mergePath, form); !strings.Contains(a.text, test.want) || a.status < http.StatusForbidden {
				t.Errorf("got %d, want %q:\n%s", a.status, test.want, a.text)
			}
			if len(w.host.merged) > 0 {
				t.Errorf("merged %+v", w.host.merged)
			}
		})
	}
}

// An approval merges the commit that the user reviewed, not one that was pushed later.
func TestApprovalIsForOneCommit(t *testing.T) {
	w := newWorld(t)
	b := w.browser(access.Operator)
	form := b.see(mergePath).fields()
	w.host.files.Head.Commit = next
	w.host.files.Body = pullrequest.Mark{Name: "prod", Digest: "e", Commit: next}.String()
	if a := b.send(mergePath, form); a.status != http.StatusConflict || !strings.Contains(a.text, "has changed since this page was loaded") {
		t.Errorf("got %d:\n%s", a.status, a.text)
	}
	if a := w.browser(access.Reader).see(mergePath); a.status != http.StatusForbidden {
		t.Errorf("a reader: got %d", a.status)
	}
	if len(w.host.merged) > 0 {
		t.Errorf("merged %+v", w.host.merged)
	}
}

// A rollback shows its plan.
func TestConfirmationShowsThePlan(t *testing.T) {
	text := newWorld(t).browser(access.Operator).see("/environments/prod/rollback").text
	for _, want := range []string{">Plan</h2>", "with " + older, "−3 removed", "/plan?commit=" + older} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q:\n%s", want, text)
		}
	}
}
