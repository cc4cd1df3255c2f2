package forgetest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

var repositoryRules = []rule{
	{"a URL and its spellings are one repository", func(s *suite) {
		for _, url := range []string{s.url + ".git", s.url + "/", s.url} {
			r, err := s.Forge.Repository(url)
			s.must(err)
			if r.ID() != s.repo.ID() {
				s.Errorf("%s is %v, want %v", url, r.ID(), s.repo.ID())
			}
		}
	}},
	{"another host's repository is refused", func(s *suite) {
		_, err := s.Forge.Repository("https://elsewhere.example.com/o/r")
		s.wantKind(err, forge.ErrInvalid)
	}},
	{"what does not exist is not found", func(s *suite) {
		gone, err := s.Forge.Repository(s.url + "-that-does-not-exist")
		s.must(err)
		_, err = gone.FindPullRequests(s.ctx, forge.PullRequestFilter{})
		s.wantKind(err, forge.ErrNotFound)
		_, err = s.repo.PullRequest(s.ctx, 4711)
		s.wantKind(err, forge.ErrNotFound)
		s.wantKind(s.repo.EditPullRequest(s.ctx, 4711, forge.PullRequestEdit{Title: new("new")}), forge.ErrNotFound)
		_, err = s.repo.Comments(s.ctx, 4711)
		s.wantKind(err, forge.ErrNotFound)
	}},
}

var pullRequestRules = []rule{
	{"what was opened is read", func(s *suite) {
		head := s.Commit(s.T, s.url, "kalypso/dev")
		opened, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "kalypso/dev", Base: "main", Title: "Add shop", Body: "- one\n- two\n"})
		s.must(err)
		c := s.pullRequest(opened.Number)
		got := forge.PullRequest{
			Title: c.Title, Body: strings.TrimSpace(c.Body), State: c.State, Head: c.Head, Base: forge.Ref{Branch: c.Base.Branch},
		}
		want := forge.PullRequest{
			Title: "Add shop", Body: "- one\n- two", State: forge.Open,
			Head: forge.Ref{Branch: "kalypso/dev", Commit: head}, Base: forge.Ref{Branch: "main"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.Error(diff)
		}
		if c.Number == 0 || c.Author == "" || c.CreatedAt.IsZero() || !strings.HasPrefix(c.URL, "http") || c.Fetch == "" || !c.EndedAt.IsZero() {
			s.Errorf("incomplete: %+v", c)
		}
	}},
	{"a draft is opened as one", func(s *suite) {
		s.Commit(s.T, s.url, "unfinished")
		opened, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "unfinished", Base: "main", Title: "Unfinished", Draft: true})
		s.must(err)
		if c := s.pullRequest(opened.Number); !c.Draft || c.State != forge.Open || !strings.Contains(c.Title, "Unfinished") {
			s.Errorf("got %+v", c)
		}
		if c := s.open("finished"); c.Draft {
			s.Errorf("got %+v", c)
		}
	}},
	{"a second one from the same head is a conflict", func(s *suite) {
		s.open("twice")
		_, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "twice", Base: "main", Title: "Again"})
		s.wantKind(err, forge.ErrConflict)
		if got := s.find(forge.PullRequestFilter{Head: "twice"}); len(got) != 1 {
			s.Errorf("got pull requests %v, want one", got)
		}
	}},
	{"one from a branch that does not exist is refused", func(s *suite) {
		_, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "nowhere", Base: "main", Title: "From nowhere"})
		if err == nil {
			s.Fatal("opened")
		}
	}},
	{"they are found by head, base and state, the newest first", func(s *suite) {
		a := s.open("a")
		s.Commit(s.T, s.url, "release")
		b := s.open("b")
		s.must(s.repo.EditPullRequest(s.ctx, a.Number, forge.PullRequestEdit{State: new(forge.Closed)}))
		s.must(s.repo.EditPullRequest(s.ctx, b.Number, forge.PullRequestEdit{Base: new("release")}))
		c := s.open("c")
		a2, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "a", Base: "main", Title: "Again"})
		s.must(err)
		for _, tc := range []struct {
			filter forge.PullRequestFilter
			want   []int
		}{
			{forge.PullRequestFilter{}, []int{a2.Number, c.Number, b.Number, a.Number}},
			{forge.PullRequestFilter{Limit: 2}, []int{a2.Number, c.Number}},
			{forge.PullRequestFilter{State: forge.Open}, []int{a2.Number, c.Number, b.Number}},
			{forge.PullRequestFilter{State: forge.Closed}, []int{a.Number}},
			{forge.PullRequestFilter{State: forge.Merged}, []int{}},
			{forge.PullRequestFilter{Head: "a"}, []int{a2.Number, a.Number}},
			{forge.PullRequestFilter{Head: "a", Limit: 1}, []int{a2.Number}},
			{forge.PullRequestFilter{Base: "release"}, []int{b.Number}},
			{forge.PullRequestFilter{Head: "a", Base: "release"}, []int{}},
			{forge.PullRequestFilter{Head: "nowhere"}, []int{}},
		} {
			if diff := cmp.Diff(tc.want, s.find(tc.filter)); diff != "" {
				s.Errorf("%+v: %s", tc.filter, diff)
			}
		}
	}},
	{"a fork's branch is not ours, whatever its name", func(s *suite) {
		if s.Fork == nil {
			s.Skip("the harness has no forks")
		}
		ours := s.open("kalypso/dev")
		theirs := s.Fork(s.T, s.url, "kalypso/dev")
		if diff := cmp.Diff([]int{ours.Number}, s.find(forge.PullRequestFilter{Head: "kalypso/dev"})); diff != "" {
			s.Error(diff)
		}
		if diff := cmp.Diff([]int{theirs, ours.Number}, s.find(forge.PullRequestFilter{State: forge.Open, Base: "main"})); diff != "" {
			s.Error(diff)
		}
		if c := s.pullRequest(theirs); c.Head.Fork == "" || c.Head.Commit == "" || c.Head.Branch != "kalypso/dev" {
			s.Errorf("got %+v", c)
		}
	}},
	{"an edit changes what it names and nothing else", func(s *suite) {
		c := s.open("edited")
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{}))
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{Title: new("New title")}))
		if got := s.pullRequest(c.Number); got.Title != "New title" || got.Body != c.Body || got.State != forge.Open {
			s.Errorf("after the title: %+v", got)
		}
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{Body: new("New body")}))
		if got := s.pullRequest(c.Number); got.Title != "New title" || got.Body != "New body" || got.Base.Branch != "main" {
			s.Errorf("after the body: %+v", got)
		}
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{Body: new("")}))
		if got := s.pullRequest(c.Number); got.Body != "" {
			s.Errorf("the body is not empty: %+v", got)
		}
	}},
	{"closing and opening again may be repeated", func(s *suite) {
		c := s.open("wavering")
		for _, state := range []forge.State{forge.Closed, forge.Closed, forge.Open, forge.Open} {
			if state == forge.Open {
				s.reopen(c.Number)
			} else {
				s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{State: &state}))
			}
			if got := s.pullRequest(c.Number); got.State != state || got.EndedAt.IsZero() != (state == forge.Open) {
				s.Errorf("want %s, got %+v", state, got)
			}
		}
	}},
	{"the head follows its branch", func(s *suite) {
		c := s.open("moving")
		next := s.Commit(s.T, s.url, "moving")
		s.eventually("the pull request has the old head", func() bool { return s.pullRequest(c.Number).Head.Commit == next })
	}},
	{"the closing account is known", func(s *suite) {
		if s.Person == nil {
			s.Skip("the harness has no second account")
		}
		c := s.open("closed-by-a-person")
		s.must(s.as(s.Person).EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{State: new(forge.Closed)}))
		got := s.pullRequest(c.Number)
		if got.EndedBy == "" || got.EndedBy == got.Author {
			s.Errorf("ended by %q, opened by %q", got.EndedBy, got.Author)
		}
		s.reopen(c.Number)
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{State: new(forge.Closed)}))
		if got := s.pullRequest(c.Number); got.EndedBy != got.Author {
			s.Errorf("closed again by ourselves, %q, but got %q", got.Author, got.EndedBy)
		}
	}},
	{"text in every script survives", func(s *suite) {
		c := s.open("unicode")
		title, body := "Grüße 世界 🚀 <b>&amp;", "```diff\n- ä\n+ 🧑‍🚀\n```\n\n| a | b |\n|---|---|\n| \\| | `x` |\n\n<!-- kept -->"
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{Title: &title, Body: &body}))
		got := s.pullRequest(c.Number)
		if got.Title != title || got.Body != body {
			s.Errorf("got %q, %q", got.Title, got.Body)
		}
	}},
	{"text that is too long is cut", func(s *suite) {
		c := s.open("long")
		limits := s.Forge.Limits()
		title, body := strings.Repeat("título ", 1000), strings.Repeat("línea 🚀\n", 8_000)
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{Title: &title, Body: &body}))
		got := s.pullRequest(c.Number)
		if n := len([]rune(got.Title)); n < 20 || (limits.Title > 0 && n > limits.Title) || !strings.HasPrefix(title, strings.TrimSuffix(got.Title, "…")) {
			s.Errorf("title of %d characters", n)
		}
		if n := len([]rune(got.Body)); n < 1000 || (limits.Body > 0 && n > limits.Body) || !strings.HasPrefix(body, strings.TrimSuffix(got.Body, "…")) {
			s.Errorf("body of %d characters", n)
		}
	}},
	{"lists are complete however many pages they have", func(s *suite) {
		const many = 103
		for i := range many {
			s.open(branchNumber(i))
		}
		if got := s.find(forge.PullRequestFilter{State: forge.Open, Base: "main"}); len(got) != many {
			s.Errorf("found %d, want %d", len(got), many)
		}
		oldest := s.find(forge.PullRequestFilter{Head: branchNumber(0)})
		if len(oldest) != 1 {
			s.Errorf("the oldest is found as %v", oldest)
		}
	}},
}
