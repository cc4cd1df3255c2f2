package web_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

// The page of plans lists open pull requests with author and subject, and says what is not known.
func TestPlanListsOpenPullRequests(t *testing.T) {
	w, _ := planning(t, aPreview)
	w.pages.Open = &web.OpenPullRequests{}
	parse(t, w.ask("/plan").Body).wants("main section p.empty", "Not listed yet")
	of := func(number int, state forge.State) forge.PullRequest {
		return forge.PullRequest{
			Number: number, Title: "a <i>region</i>", URL: "https://git.example.com/pulls/1", Author: "ann", State: state,
			Head: forge.Ref{Branch: "topic"}, Base: forge.Ref{Branch: "main"},
		}
	}
	w.pages.Open.Listed(web.Listing{Repository: controlPlane, ControlPlane: true, At: noon, All: []forge.PullRequest{of(70, forge.Open), of(60, forge.Merged)}})
	many := web.Listing{Repository: "https://git.example.com/gitops", At: noon, Partial: true}
	for n := range 53 {
		many.All = append(many.All, of(n+1, forge.Open))
	}
	w.pages.Open.Listed(many)
	w.pages.Open.Listed(web.Listing{Repository: many.Repository, At: noon, Err: errors.New("away")})
	text := w.ask("/plan?again").Body.String()
	for _, want := range []string{
		"#70 a &lt;i&gt;region&lt;/i&gt;", "<td>ann</td>", "change=70", "3 older ones are not shown", "Older ones may be open", "The last attempt to list them failed. This list is of",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "#60 ") {
		t.Error("the page lists a merged pull request")
	}
}
