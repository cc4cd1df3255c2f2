package forgetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

var commentRules = []rule{
	{"one comment has a marker, with the latest text", func(s *suite) {
		c := s.open("commented")
		first, err := s.repo.UpsertComment(s.ctx, c.Number, "plan dev", "12 added")
		s.must(err)
		other, err := s.repo.UpsertComment(s.ctx, c.Number, "plan stage", "nothing")
		s.must(err)
		second, err := s.repo.UpsertComment(s.ctx, c.Number, "plan dev", "13 added 🚀")
		s.must(err)
		if first.ID != second.ID || first.ID == other.ID || first.ID == "" {
			s.Errorf("ids %q, %q, %q", first.ID, second.ID, other.ID)
		}
		all := s.comments(c.Number)
		if len(all) != 2 || !strings.HasPrefix(all[0].Body, "13 added 🚀") || !forge.Marked(all[0].Body, "plan dev") || all[0].Author == "" {
			s.Errorf("got %+v", all)
		}
	}},
	{"the same comment again writes nothing", func(s *suite) {
		c := s.open("unchanged")
		_, err := s.repo.UpsertComment(s.ctx, c.Number, "m", "text\n")
		s.must(err)
		if s.Fake != nil {
			s.Fake.Faults.Clear()
		}
		_, err = s.repo.UpsertComment(s.ctx, c.Number, "m", "text\n")
		s.must(err)
		if s.Fake != nil {
			for _, method := range []string{"POST", "PATCH", "PUT"} {
				if writes := s.Fake.Faults.Requests(method); len(writes) > 0 {
					s.Errorf("wrote %q", writes)
				}
			}
		}
	}},
	{"another account's comment with our marker is not ours", func(s *suite) {
		if s.Person == nil {
			s.Skip("the harness has no second account")
		}
		c := s.open("quoted")
		theirs, err := s.as(s.Person).UpsertComment(s.ctx, c.Number, "plan", "Looks good to me")
		s.must(err)
		ours, err := s.repo.UpsertComment(s.ctx, c.Number, "plan", "The plan")
		s.must(err)
		if ours.ID == theirs.ID {
			s.Error("their comment was edited")
		}
		all := s.comments(c.Number)
		if len(all) != 2 || !strings.HasPrefix(all[0].Body, "Looks good to me") || all[0].Author == all[1].Author {
			s.Errorf("got %+v", all)
		}
	}},
	{"long comments are cut and keep their marker", func(s *suite) {
		c := s.open("long-comment")
		for range 2 {
			_, err := s.repo.UpsertComment(s.ctx, c.Number, "m", strings.Repeat("zeile 🚀\n", 9_000))
			s.must(err)
		}
		all := s.comments(c.Number)
		limit := s.Forge.Limits().Comment
		if len(all) != 1 || !forge.Marked(all[0].Body, "m") || (limit > 0 && len([]rune(all[0].Body)) > limit) {
			s.Errorf("got %d comments", len(all))
		}
	}},
	{"a comment is found beyond the first page", func(s *suite) {
		c := s.open("talkative")
		for i := range 103 {
			_, err := s.repo.UpsertComment(s.ctx, c.Number, branchNumber(i), fmt.Sprint("comment ", i))
			s.must(err)
		}
		_, err := s.repo.UpsertComment(s.ctx, c.Number, branchNumber(102), "the last")
		s.must(err)
		all := s.comments(c.Number)
		if len(all) != 103 || !strings.HasPrefix(all[102].Body, "the last") {
			s.Errorf("got %d comments", len(all))
		}
	}},
}

func (s *suite) comments(number int) []forge.Comment {
	s.Helper()
	all, err := s.repo.Comments(s.ctx, number)
	s.must(err)
	return all
}

// issues skips a rule if the forge has no issues.
func issues(check func(s *suite)) func(s *suite) {
	return func(s *suite) {
		if _, err := s.repo.FindIssues(s.ctx, forge.IssueFilter{}); errors.Is(err, forge.ErrUnsupported) {
			s.Skip(err)
		}
		check(s)
	}
}

var issueRules = []rule{
	{"issues are opened, found, edited and closed", issues(func(s *suite) {
		for _, name := range []string{"kalypso", "other"} {
			s.must(s.repo.EnsureLabel(s.ctx, forge.Label{Name: name}))
		}
		marked := func(m string) string { return forge.Mark("What to do", m, 0) }
		one, err := s.repo.OpenIssue(s.ctx, forge.NewIssue{Title: "Template missing", Body: marked("problem 1"), Labels: []string{"kalypso"}})
		s.must(err)
		two, err := s.repo.OpenIssue(s.ctx, forge.NewIssue{Title: "Schema wrong 🚀", Body: marked("problem 2"), Labels: []string{"kalypso", "other"}})
		s.must(err)
		three, err := s.repo.OpenIssue(s.ctx, forge.NewIssue{Title: "A person's"})
		s.must(err)
		s.open("not-an-issue")
		s.must(s.repo.EditIssue(s.ctx, one.Number, forge.IssueEdit{}))
		s.must(s.repo.EditIssue(s.ctx, one.Number, forge.IssueEdit{State: new(forge.Closed)}))
		s.must(s.repo.EditIssue(s.ctx, two.Number, forge.IssueEdit{Title: new("Schema very wrong")}))
		for _, tc := range []struct {
			filter forge.IssueFilter
			want   []int
		}{
			{forge.IssueFilter{}, []int{three.Number, two.Number, one.Number}},
			{forge.IssueFilter{State: forge.Open}, []int{three.Number, two.Number}},
			{forge.IssueFilter{State: forge.Open, Label: "kalypso"}, []int{two.Number}},
			{forge.IssueFilter{Label: "kalypso"}, []int{two.Number, one.Number}},
			{forge.IssueFilter{Label: "unused-label"}, []int{}},
			{forge.IssueFilter{Label: "kalypso", Marker: "problem 1"}, []int{one.Number}},
			{forge.IssueFilter{Marker: "problem 2"}, []int{two.Number}},
		} {
			if diff := cmp.Diff(tc.want, s.issueNumbers(tc.filter)); diff != "" {
				s.Errorf("%+v: %s", tc.filter, diff)
			}
		}
		got, err := s.repo.FindIssues(s.ctx, forge.IssueFilter{Marker: "problem 2"})
		s.must(err)
		if len(got) != 1 || got[0].Title != "Schema very wrong" || got[0].Author == "" || got[0].URL == "" ||
			!cmp.Equal(got[0].Labels, []string{"kalypso", "other"}) {
			s.Errorf("got %+v", got)
		}
	})},
	{"closing and opening again may be repeated", issues(func(s *suite) {
		i, err := s.repo.OpenIssue(s.ctx, forge.NewIssue{Title: "Wavering", Body: "text"})
		s.must(err)
		for _, state := range []forge.State{forge.Closed, forge.Closed, forge.Open, forge.Open} {
			s.must(s.repo.EditIssue(s.ctx, i.Number, forge.IssueEdit{State: &state}))
			if got := s.issueNumbers(forge.IssueFilter{State: state}); !cmp.Equal(got, []int{i.Number}) {
				s.Errorf("%s: %v", state, got)
			}
		}
	})},
	{"more than a page of issues is complete", issues(func(s *suite) {
		const many = 103
		for i := range many {
			_, err := s.repo.OpenIssue(s.ctx, forge.NewIssue{Title: branchNumber(i)})
			s.must(err)
		}
		if got := s.issueNumbers(forge.IssueFilter{State: forge.Open}); len(got) != many {
			s.Errorf("found %d, want %d", len(got), many)
		}
	})},
	{"an issue that does not exist is not found", issues(func(s *suite) {
		s.wantKind(s.repo.EditIssue(s.ctx, 4711, forge.IssueEdit{Title: new("t")}), forge.ErrNotFound)
	})},
}

func (s *suite) issueNumbers(f forge.IssueFilter) []int {
	s.Helper()
	issues, err := s.repo.FindIssues(s.ctx, f)
	s.must(err)
	numbers := []int{}
	for _, i := range issues {
		numbers = append(numbers, i.Number)
	}
	return numbers
}
