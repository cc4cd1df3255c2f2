package pullrequest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// annotated is a repository that remembers what it was asked for, and answers with an error.
type annotated struct {
	forge.Repository
	says  error
	asked []forge.Annotations
	edits int
}

func (a *annotated) Annotate(_ context.Context, _ int, all forge.Annotations) error {
	a.asked = append(a.asked, all)
	return a.says
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

func aLiving(repo forge.Repository, did *[]string) *Living {
	return &Living{Repository: repo, Open: &forge.PullRequest{Number: 7, State: forge.Open}, Done: func(_, what string) error {
		*did = append(*did, what)
		return nil
	}}
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

// TestWhatIsShownIsNotAskedForAgain, and neither is what the forge does not let us show.
func TestWhatIsShownIsNotAskedForAgain(t *testing.T) {
	no := func(kind error) error { return &forge.Error{Kind: kind, Op: "annotate change"} }
	for name, tc := range map[string]struct {
		says  error
		asked int // in two rounds
		fails bool
		did   string
	}{
		"shown":                      {nil, 1, false, "annotated change 7"},
		"without the right":          {no(forge.ErrDenied), 1, false, "left out annotations: annotate change: denied"},
		"with an expired token":      {&forge.Error{Kind: forge.ErrDenied, Status: 401}, 2, true, ""},
		"where the forge wants none": {no(forge.ErrInvalid), 1, false, "left out annotations: annotate change: invalid"},
		"before it notices the head": {no(forge.ErrConflict), 2, false, ""},
		"while it does not answer":   {no(forge.ErrUnavailable), 2, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			repo := &annotated{says: tc.says}
			living, mark := aLiving(repo, &did), &Mark{Commit: "c"}
			for range 2 {
				err := living.annotate(t.Context(), aProposal(aFinding), mark)
				if (err != nil) != tc.fails || err != nil && !errors.Is(err, tc.says) {
					t.Errorf("got %v", err)
				}
			}
			if len(repo.asked) != tc.asked || repo.edits != 2-tc.asked {
				t.Errorf("asked %d times, edited %d times", len(repo.asked), repo.edits)
			}
			if tc.did != "" && !cmp.Equal(did, []string{tc.did}) {
				t.Errorf("did %q", did)
			}
			if tc.did != "" && MarkOf(living.Open.Body).Annotated == "" {
				t.Errorf("the text does not remember it: %s", living.Open.Body)
			}
		})
	}
}

// TestFindingsThatAreGoneAreTakenAway: and nothing is asked where there were none.
func TestFindingsThatAreGoneAreTakenAway(t *testing.T) {
	var did []string
	repo := &annotated{}
	living, mark := aLiving(repo, &did), &Mark{Commit: "c"}
	for _, findings := range [][]check.Finding{nil, {aFinding}, {aFinding}, nil, nil} {
		if err := living.annotate(t.Context(), aProposal(findings...), mark); err != nil {
			t.Fatal(err)
		}
	}
	if len(repo.asked) != 2 || len(repo.asked[0].All) != 1 || len(repo.asked[1].All) != 0 {
		t.Errorf("asked for %+v", repo.asked)
	}
	mark.Commit = "d"
	if err := living.annotate(t.Context(), aProposal(aFinding), mark); err != nil || len(repo.asked) != 3 {
		t.Errorf("another commit: %v, asked for %+v", err, repo.asked)
	}
}

// TestAMergedChangeIsNotEdited: its findings are shown, and nobody will read its mark.
func TestAMergedChangeIsNotEdited(t *testing.T) {
	var did []string
	repo := &annotated{}
	living := aLiving(repo, &did)
	living.Open.State = forge.Merged
	if err := living.annotate(t.Context(), aProposal(aFinding), &Mark{Commit: "c"}); err != nil || len(repo.asked) != 1 || repo.edits != 0 {
		t.Errorf("%v, asked for %+v, edited %d times", err, repo.asked, repo.edits)
	}
}
