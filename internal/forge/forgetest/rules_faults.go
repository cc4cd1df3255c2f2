package forgetest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

var rightRules = []rule{
	{"a read-only token gets an error that names the missing right", func(s *suite) {
		if s.Weak == nil {
			s.Skip("the harness has no token without rights")
		}
		c := s.open("readable")
		s.Commit(s.T, s.url, "proposed")
		weak := s.as(s.Weak)
		if _, err := weak.PullRequest(s.ctx, c.Number); err != nil {
			s.Errorf("read: %v", err)
		}
		s.must(s.repo.EnsureLabel(s.ctx, promoted))
		_, opened := weak.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "proposed", Base: "main", Title: "T"})
		_, commented := weak.UpsertComment(s.ctx, c.Number, "m", "text")
		_, merged := weak.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
		for name, err := range map[string]error{
			"open":    opened,
			"comment": commented,
			"merge":   merged,
			"edit":    weak.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{Title: new("T")}),
			"label":   weak.AddLabels(s.ctx, c.Number, promoted.Name),
			"status":  weak.SetStatus(s.ctx, c.Head.Commit, forge.Status{Context: "ci", State: forge.Success}),
		} {
			if e := s.wantKind(err, forge.ErrDenied); e.Right == "" {
				s.Errorf("%s: %v does not name the right", name, err)
			}
		}
	}},
}

var faultRules = []rule{
	{"reads are retried after a server error", fake(func(s *suite) {
		c := s.open("read")
		for _, answer := range []http.HandlerFunc{
			Answer(http.StatusBadGateway, "bad gateway", "Content-Type", "text/html"),
			Answer(http.StatusServiceUnavailable, ""),
			Drop,
		} {
			s.inject(Fault{Method: "GET", Times: 2, Answer: answer})
			if got := s.pullRequest(c.Number); got.Number != c.Number {
				s.Errorf("got %+v", got)
			}
			// Package http itself retries dropped connections once, without waiting.
			if slept := s.Fake.Clock.Slept(); len(slept) == 0 || len(slept) > 2 || slices.Min(slept) <= 0 || slices.Max(slept) > 5*time.Second {
				s.Errorf("waited %v", slept)
			}
		}
	})},
	{"retries end", fake(func(s *suite) {
		s.inject(Fault{Times: -1, Answer: Answer(http.StatusInternalServerError, `{"message":"boom"}`)})
		_, err := s.repo.FindPullRequests(s.ctx, forge.PullRequestFilter{})
		s.wantKind(err, forge.ErrUnavailable)
		if n := len(s.Fake.Faults.Requests("")); n < 2 || n > 10 {
			s.Errorf("%d requests", n)
		}
	})},
	{"opening is not retried when the response is lost", fake(func(s *suite) {
		s.Commit(s.T, s.url, "lost")
		s.inject(Fault{Method: "POST", Path: "/pull", After: true, Answer: Answer(http.StatusBadGateway, "")})
		s.inject(Fault{Method: "POST", Path: "/merge_requests", After: true, Answer: Answer(http.StatusBadGateway, "")})
		_, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "lost", Base: "main", Title: "Lost"})
		s.wantKind(err, forge.ErrUnavailable)
		if got := s.find(forge.PullRequestFilter{Head: "lost"}); len(got) != 1 {
			s.Errorf("found %v, want one", got)
		}
	})},
	{"reads and writes wait for a rate limit", fake(func(s *suite) {
		for name, limit := range s.Fake.RateLimits {
			s.Commit(s.T, s.url, "limited-"+name)
			s.inject(limit(7 * time.Second))
			_, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "limited-" + name, Base: "main", Title: "Limited"})
			s.must(err)
			if slept := total(s.Fake.Clock.Slept()); slept < 7*time.Second || slept > 10*time.Second {
				s.Errorf("%s: waited %v, want 7 seconds", name, slept)
			}
			s.inject(limit(3 * time.Second))
			s.find(forge.PullRequestFilter{Limit: 1})
			if slept := total(s.Fake.Clock.Slept()); slept < 3*time.Second || slept > 6*time.Second {
				s.Errorf("%s: waited %v, want 3 seconds", name, slept)
			}
		}
	})},
	{"a long rate limit is an error that says how long, and no request is sent meanwhile", fake(func(s *suite) {
		for name, limit := range s.Fake.RateLimits {
			s.inject(limit(30 * time.Minute))
			for range 2 {
				_, err := s.repo.FindPullRequests(s.ctx, forge.PullRequestFilter{})
				e := s.wantKind(err, forge.ErrRateLimited)
				if e.RetryAfter < 29*time.Minute || e.RetryAfter > 31*time.Minute {
					s.Errorf("%s: %v: retry after %v, want half an hour", name, err, e.RetryAfter)
				}
			}
			if sent := s.Fake.Faults.Requests(""); len(sent) != 1 {
				s.Errorf("%s: requests %q", name, sent)
			}
			s.must(s.Fake.Clock.Sleep(s.ctx, time.Hour))
			s.find(forge.PullRequestFilter{Limit: 1})
		}
	})},
	{"an unknown token is denied", fake(func(s *suite) {
		unknown := s.as(s.Fake.Unknown)
		_, err := unknown.FindPullRequests(s.ctx, forge.PullRequestFilter{})
		if e := s.wantKind(err, forge.ErrDenied); e.Right == "" || e.Hint == "" {
			s.Errorf("%v does not say what to do", err)
		}
	})},
	{"no response in time is unavailable", fake(func(s *suite) {
		s.inject(Fault{Times: -1, Answer: Hang})
		_, err := s.as(s.Fake.Impatient).FindPullRequests(s.ctx, forge.PullRequestFilter{})
		s.wantKind(err, forge.ErrUnavailable)
		if errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("%v looks like the end of the caller's context", err)
		}
	})},
	{"a canceled context returns the context's error", fake(func(s *suite) {
		ctx, cancel := context.WithCancel(s.ctx)
		s.inject(Fault{Times: -1, Answer: func(w http.ResponseWriter, r *http.Request) { cancel(); Hang(w, r) }})
		_, err := s.repo.FindPullRequests(ctx, forge.PullRequestFilter{})
		if !errors.Is(err, context.Canceled) {
			s.Errorf("got %v", err)
		}
	})},
	{"a response that is not the forge's is unavailable", fake(func(s *suite) {
		for name, answer := range map[string]http.HandlerFunc{
			"a sign-in page": Answer(http.StatusOK, "<html>sign in</html>", "Content-Type", "text/html"),
			"broken JSON":    Answer(http.StatusOK, `[{"number": 1`),
			"another JSON":   Answer(http.StatusOK, `"hello"`),
			"too much":       Huge(64 << 20),
		} {
			s.inject(Fault{Times: -1, Answer: answer})
			if _, err := s.repo.FindPullRequests(s.ctx, forge.PullRequestFilter{}); !errors.Is(err, forge.ErrUnavailable) {
				s.Errorf("%s: got %v", name, err)
			}
			s.Fake.Faults.Clear()
		}
	})},
	{"the token is not sent to other hosts", fake(func(s *suite) {
		reached := false
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		defer elsewhere.Close()
		s.inject(Fault{Times: -1, Answer: Answer(http.StatusFound, "", "Location", elsewhere.URL+"/x")})
		_, err := s.repo.FindPullRequests(s.ctx, forge.PullRequestFilter{})
		s.wantKind(err, forge.ErrDenied)
		if reached {
			s.Error("the other host got a request")
		}
	})},
	{"no error contains a token", fake(func(s *suite) {
		quoting := `{"message":"bad token ` + strings.Join(s.Fake.Secrets, " ") + `"}`
		for _, status := range []int{400, 401, 403, 404, 409, 422, 500} {
			s.inject(Fault{Times: -1, Answer: Answer(status, quoting)})
			_, found := s.repo.FindPullRequests(s.ctx, forge.PullRequestFilter{})
			_, opened := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "h", Base: "main", Title: "T"})
			for _, err := range []error{found, opened, s.repo.SetStatus(s.ctx, "c", forge.Status{Context: "ci", State: forge.Success})} {
				for _, token := range s.Fake.Secrets {
					if err == nil || strings.Contains(err.Error(), token) {
						s.Errorf("status %d: %v", status, err)
					}
				}
			}
			s.Fake.Faults.Clear()
		}
	})},
}

// fake skips a rule if the forge cannot fail on demand.
func fake(check func(s *suite)) func(s *suite) {
	return func(s *suite) {
		if s.Fake == nil {
			s.Skip("a real forge does not fail on command")
		}
		s.Fake.Clock.Slept()
		check(s)
	}
}

// inject makes future requests fail, and forgets recorded requests.
func (s *suite) inject(f Fault) {
	s.Fake.Faults.mu.Lock()
	s.Fake.Faults.requests = nil
	s.Fake.Faults.mu.Unlock()
	s.Fake.Faults.Inject(f)
}

func total(slept []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range slept {
		sum += d
	}
	return sum
}
