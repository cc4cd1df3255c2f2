package forgetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// promoted is a label as the flows use it.
var promoted = forge.Label{Name: "promoted", Color: "0e8a16", Description: "carries a new commit"}

var labelRules = []rule{
	{"adding and removing may be repeated", func(s *suite) {
		c := s.open("labels")
		for range 2 {
			s.must(s.repo.EnsureLabel(s.ctx, promoted))
			s.must(s.repo.EnsureLabel(s.ctx, forge.Label{Name: "kalypso/allow-deletions"}))
			s.must(s.repo.AddLabels(s.ctx, c.Number, "promoted", "kalypso/allow-deletions"))
		}
		if got := s.pullRequest(c.Number).Labels; !slices.Equal(got, []string{"kalypso/allow-deletions", "promoted"}) {
			s.Errorf("got labels %q", got)
		}
		found, err := s.repo.FindPullRequests(s.ctx, forge.PullRequestFilter{Head: "labels"})
		s.must(err)
		if len(found) != 1 || !found[0].HasLabel("Promoted") {
			s.Errorf("the list does not have the labels: %+v", found)
		}
		for range 2 {
			s.must(s.repo.RemoveLabel(s.ctx, c.Number, "kalypso/allow-deletions"))
		}
		s.must(s.repo.RemoveLabel(s.ctx, c.Number, "never-there"))
		if got := s.pullRequest(c.Number).Labels; !slices.Equal(got, []string{"promoted"}) {
			s.Errorf("got labels %q", got)
		}
		s.must(s.repo.AddLabels(s.ctx, c.Number))
	}},
	{"a name may have slashes, colons and spaces", func(s *suite) {
		c := s.open("punctuation")
		for _, name := range []string{"kalypso/allow:deletions", "team: shop 100%"} {
			s.must(s.repo.EnsureLabel(s.ctx, forge.Label{Name: name}))
			s.must(s.repo.AddLabels(s.ctx, c.Number, name))
			if got := s.pullRequest(c.Number); !got.HasLabel(name) {
				s.Errorf("got labels %q, want %q", got.Labels, name)
			}
			s.must(s.repo.RemoveLabel(s.ctx, c.Number, name))
			if got := s.pullRequest(c.Number).Labels; len(got) != 0 {
				s.Errorf("got labels %q", got)
			}
		}
	}},
	{"labels beyond the first page are known", func(s *suite) {
		for i := range 60 {
			s.must(s.repo.EnsureLabel(s.ctx, forge.Label{Name: fmt.Sprintf("label-%03d", i)}))
		}
		s.must(s.repo.EnsureLabel(s.ctx, forge.Label{Name: "label-059"}))
		c := s.open("many-labels")
		s.must(s.repo.AddLabels(s.ctx, c.Number, "label-059"))
		s.must(s.repo.RemoveLabel(s.ctx, c.Number, "label-059"))
		if got := s.pullRequest(c.Number).Labels; len(got) != 0 {
			s.Errorf("got labels %q", got)
		}
	}},
	{"the account that added a label is known", func(s *suite) {
		historian := can[forge.LabelHistorian](s, s.repo)
		if s.Person == nil {
			s.Skip("the harness has no second account")
		}
		s.must(s.repo.EnsureLabel(s.ctx, promoted))
		c := s.open("labeled")
		s.must(s.repo.AddLabels(s.ctx, c.Number, "promoted"))
		s.must(s.repo.RemoveLabel(s.ctx, c.Number, "promoted"))
		if who, err := historian.LabeledBy(s.ctx, c.Number, "promoted"); err != nil || who != "" {
			s.Errorf("removed, but added by %q, %v", who, err)
		}
		s.must(s.as(s.Person).AddLabels(s.ctx, c.Number, "promoted"))
		who, err := historian.LabeledBy(s.ctx, c.Number, "promoted")
		s.must(err)
		if who == "" || who == c.Author {
			s.Errorf("added by %q", who)
		}
	}},
}

var statusRules = []rule{
	{"the latest of each context counts", func(s *suite) {
		commit := s.Commit(s.T, s.url, "main")
		for _, set := range []forge.Status{
			{Context: "kalypso/plan", State: forge.Pending, Description: "Planning"},
			{Context: "dev", State: forge.Success, Description: "Deployed", URL: "https://kalypso.example.com/dev"},
			{Context: "kalypso/plan", State: forge.Failure, Description: "2 problems"},
			{Context: "stage", State: forge.Errored},
			{Context: "kalypso/plan", State: forge.Success, Description: "12 added", URL: "https://kalypso.example.com/plan"},
		} {
			s.must(s.repo.SetStatus(s.ctx, commit, set))
		}
		got, err := s.repo.Statuses(s.ctx, commit)
		s.must(err)
		want := []forge.Status{
			{Context: "dev", State: forge.Success, Description: "Deployed", URL: "https://kalypso.example.com/dev"},
			{Context: "kalypso/plan", State: forge.Success, Description: "12 added", URL: "https://kalypso.example.com/plan"},
			{Context: "stage", State: forge.Errored},
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(forge.Status{}, "Time")); diff != "" {
			s.Error(diff)
		}
	}},
	{"setting the same status again is not an error", func(s *suite) {
		commit := s.Commit(s.T, s.url, "main")
		for range 2 {
			s.must(s.repo.SetStatus(s.ctx, commit, forge.Status{Context: "ci", State: forge.Pending, Description: "Waiting"}))
		}
		got, err := s.repo.Statuses(s.ctx, commit)
		s.must(err)
		if len(got) != 1 {
			s.Errorf("got %+v", got)
		}
	}},
	{"a commit without statuses has none", func(s *suite) {
		got, err := s.repo.Statuses(s.ctx, s.Commit(s.T, s.url, "main"))
		s.must(err)
		if len(got) != 0 {
			s.Errorf("got %+v", got)
		}
	}},
	{"long descriptions are cut", func(s *suite) {
		commit := s.Commit(s.T, s.url, "main")
		long := strings.Repeat("größer ", 200)
		s.must(s.repo.SetStatus(s.ctx, commit, forge.Status{Context: "ci", State: forge.Failure, Description: long}))
		got, err := s.repo.Statuses(s.ctx, commit)
		s.must(err)
		limit := s.Forge.Limits().StatusDescription
		if len(got) != 1 || len([]rune(got[0].Description)) < 20 || (limit > 0 && len([]rune(got[0].Description)) > limit) {
			s.Errorf("got %+v", got)
		}
	}},
	{"more than a page of contexts is complete", func(s *suite) {
		commit := s.Commit(s.T, s.url, "main")
		many := 103
		if s.MostStatuses > 0 {
			many = min(many, s.MostStatuses)
		}
		for i := range many {
			s.must(s.repo.SetStatus(s.ctx, commit, forge.Status{Context: branchNumber(i), State: forge.Success}))
		}
		got, err := s.repo.Statuses(s.ctx, commit)
		s.must(err)
		if len(got) != many {
			s.Errorf("got %d, want %d", len(got), many)
		}
	}},
	{"a commit that does not exist is refused", func(s *suite) {
		err := s.repo.SetStatus(s.ctx, strings.Repeat("d", 40), forge.Status{Context: "ci", State: forge.Success})
		if err == nil || errors.Is(err, forge.ErrInvalid) {
			s.Fatal(err)
		}
	}},
}

// branchNumber returns a name that sorts like its number.
func branchNumber(i int) string { return fmt.Sprintf("many-%03d", i) }
