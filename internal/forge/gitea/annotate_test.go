package gitea_test

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
)

// The API does not link the next page.
func TestOurReviewIsFoundBeyondTheFirstPage(t *testing.T) {
	h := giteatest.Harness(t)
	url := h.NewRepository(t)
	repo, err := h.Forge.Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	commit := h.Commit(t, url, "dev")
	c, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	annotate := func(name string, all ...forge.Annotation) {
		t.Helper()
		err := repo.(forge.Annotator).Annotate(t.Context(), c.Number, forge.Annotations{Name: name, Commit: commit, All: all})
		if err != nil {
			t.Fatal(err)
		}
	}
	one := forge.Annotation{File: "web.yaml", Line: 1, Level: forge.Warning, Message: "has no limits"}
	for i := range 60 {
		annotate(fmt.Sprint("program-", i), one)
	}
	for range 2 {
		annotate("checks", one)
	}
	if n := len(h.Notes(t, url, c.Number)); n != 61 {
		t.Errorf("%d are shown", n)
	}
	annotate("checks")
	if n := len(h.Notes(t, url, c.Number)); n != 60 {
		t.Errorf("%d are shown when ours are gone", n)
	}
}
