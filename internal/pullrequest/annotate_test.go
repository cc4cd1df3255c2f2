package pullrequest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// annotated is a repository that records the calls, and returns an error.
type annotated struct {
	forge.Repository
	err   error
	calls []forge.Annotations
	edits int
}

func (a *annotated) Annotate(_ context.Context, _ int, all forge.Annotations) error {
	a.calls = append(a.calls, all)
	return a.err
}

func (a *annotated) EditPullRequest(context.Context, int, forge.PullRequestEdit) error {
	a.edits++
	return nil
}

var aFinding = check.Finding{
	Rule: "limits", Level: check.Warn, File: "web.yaml", Line: 3, Object: "Deployment web", Path: "spec", Message: "has none", Hint: "set them",
}

func aProposal(findings ...check.Finding) *Proposal {
	return &Proposal{Put: map[string][]byte{"web.yaml": nil}, Findings: findings, Body: func(int) string { return "the plan" }}
}

func aPullRequest(repo forge.Repository) *PullRequest {
	return &PullRequest{Repository: repo, Open: &forge.PullRequest{Number: 7, State: forge.Open}}
}

func TestFindingsBecomeAnnotations(t *testing.T) {
	elsewhere, off := aFinding, aFinding
	elsewhere.File, off.Level = "other.yaml", check.Off
	want := forge.Annotations{Name: "kalypso/checks", Commit: "c", All: []forge.Annotation{{
		File: "web.yaml", Line: 3, Level: forge.Warning, Title: "limits", Message: "Deployment web: spec: has none", Hint: "set them",
	}}}
	if diff := cmp.Diff(want, annotations(aProposal(aFinding, elsewhere, off), "c")); diff != "" {
		t.Error(diff)
	}
}

// What the forge refuses for good is not tried again either.
func TestAnnotationsAreWrittenOnce(t *testing.T) {
	no := func(kind error) error { return &forge.Error{Kind: kind, Op: "annotate pull request"} }
	for name, tc := range map[string]struct {
		err   error
		calls int // in two rounds
		fails bool
		did   string
	}{
		"succeeds":                          {nil, 1, false, "annotated pull request 7"},
		"without the right":                 {no(forge.ErrDenied), 1, false, "left out annotations: annotate pull request: denied"},
		"with an expired token":             {&forge.Error{Kind: forge.ErrDenied, Status: 401}, 2, true, ""},
		"invalid for the forge":             {no(forge.ErrInvalid), 1, false, "left out annotations: annotate pull request: invalid"},
		"before the forge knows the commit": {no(forge.ErrConflict), 2, false, ""},
		"unavailable":                       {no(forge.ErrUnavailable), 2, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			repo := &annotated{err: tc.err}
			p, mark := aPullRequest(repo), &Mark{Commit: "c"}
			for range 2 {
				err := p.annotate(t.Context(), aProposal(aFinding), mark)
				if (err != nil) != tc.fails || err != nil && !errors.Is(err, tc.err) {
					t.Errorf("got %v", err)
				}
			}
			if len(repo.calls) != tc.calls || repo.edits != 2-tc.calls {
				t.Errorf("called %d times, edited %d times", len(repo.calls), repo.edits)
			}
			if tc.did != "" && !cmp.Equal(p.Did, []string{tc.did}) {
				t.Errorf("did %q", p.Did)
			}
			if tc.did != "" && MarkOf(p.Open.Body).Annotated == "" {
				t.Errorf("the mark does not say so: %s", p.Open.Body)
			}
		})
	}
}

func TestFixedFindingsAreRemoved(t *testing.T) {
	repo := &annotated{}
	p, mark := aPullRequest(repo), &Mark{Commit: "c"}
	for _, findings := range [][]check.Finding{nil, {aFinding}, {aFinding}, nil, nil} {
		if err := p.annotate(t.Context(), aProposal(findings...), mark); err != nil {
			t.Fatal(err)
		}
	}
	if len(repo.calls) != 2 || len(repo.calls[0].All) != 1 || len(repo.calls[1].All) != 0 {
		t.Errorf("calls %+v", repo.calls)
	}
	mark.Commit = "d"
	if err := p.annotate(t.Context(), aProposal(aFinding), mark); err != nil || len(repo.calls) != 3 {
		t.Errorf("another commit: %v, calls %+v", err, repo.calls)
	}
}

// Its mark is not read again.
func TestMergedPullRequestIsAnnotatedAndNotEdited(t *testing.T) {
	repo := &annotated{}
	p := aPullRequest(repo)
	p.Open.State = forge.Merged
	if err := p.annotate(t.Context(), aProposal(aFinding), &Mark{Commit: "c"}); err != nil || len(repo.calls) != 1 || repo.edits != 0 {
		t.Errorf("%v, calls %+v, edited %d times", err, repo.calls, repo.edits)
	}
}
