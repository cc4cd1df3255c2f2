package forgetest

import (
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

var reviewRules = []rule{
	{"an approval names its account and the head", func(s *suite) {
		c := s.open("approved")
		if got := s.reviews(c.Number); len(got) != 0 {
			s.Errorf("before the first review: %+v", got)
		}
		s.decide(c.Number, forge.Approved)
		v := s.review(c.Number)
		if v.Decision != forge.Approved || v.Commit != c.Head.Commit || v.Login == "" || v.Account == "" || v.Unknown != "" {
			s.Errorf("got %+v, want an approval of %s", v, c.Head.Commit)
		}
		if !strings.HasPrefix(v.URL, "http") {
			s.Errorf("its page is %q", v.URL)
		}
	}},
	{"an approval is not one of a commit that is pushed later", func(s *suite) {
		c := s.open("pushed")
		s.decide(c.Number, forge.Approved)
		later := s.Commit(s.T, s.url, "pushed")
		for _, v := range s.reviews(c.Number) {
			if v.Decision == forge.Approved && (v.Commit == later || v.Commit == "" && v.Unknown == "") {
				s.Errorf("it counts for a later commit, or does not say why it is of none: %+v", v)
			}
		}
		s.decide(c.Number, forge.Approved)
		if v := s.review(c.Number); v.Commit != later && v.Unknown == "" {
			s.Errorf("the second approval names neither the later commit nor why not: %+v", v)
		}
	}},
	{"an approval stays when the pull request is merged", func(s *suite) {
		c := s.open("merged")
		s.decide(c.Number, forge.Approved)
		s.merge(s.repo, c)
		if v := s.review(c.Number); v.Decision != forge.Approved || v.Commit != s.pullRequest(c.Number).Head.Commit {
			s.Errorf("got %+v, want an approval of the merged head", v)
		}
	}},
	{"the last decision of an account counts", func(s *suite) {
		c := s.open("decided")
		for _, d := range []forge.ReviewDecision{forge.ChangesRequested, forge.Approved, forge.ChangesRequested} {
			s.decide(c.Number, d)
			if v := s.review(c.Number); v.Decision != d {
				s.Errorf("got %+v, want %s", v, d)
			}
		}
	}},
	{"a withdrawn approval is none", func(s *suite) {
		c := s.open("withdrawn")
		s.decide(c.Number, forge.Approved)
		s.decide(c.Number, forge.Withdrawn)
		for _, v := range s.reviews(c.Number) {
			if v.Decision != forge.Withdrawn {
				s.Errorf("got %+v", v)
			}
		}
	}},
	{"comments decide nothing, and hide nothing beyond the first page", func(s *suite) {
		c := s.open("talked")
		for range 120 {
			s.decide(c.Number, "")
		}
		s.decide(c.Number, forge.Approved)
		s.decide(c.Number, "")
		if v := s.review(c.Number); v.Decision != forge.Approved {
			s.Errorf("got %+v", v)
		}
	}},
	{"too many reviews are an error", func(s *suite) {
		if s.Fake == nil {
			s.Skip("it takes too long")
		}
		c := s.open("flooded")
		s.decide(c.Number, forge.Approved)
		for range forge.MaxReviews {
			s.decide(c.Number, "")
		}
		_, err := can[forge.Reviewer](s, s.repo).Reviews(s.ctx, c.Number)
		s.wantKind(err, forge.ErrInvalid)
	}},
	{"reviews of a pull request that does not exist", func(s *suite) {
		_, err := can[forge.Reviewer](s, s.repo).Reviews(s.ctx, 4711)
		s.wantKind(err, forge.ErrNotFound)
	}},
}

// decide reviews a pull request as another user, or skips the rule.
func (s *suite) decide(number int, d forge.ReviewDecision) {
	s.Helper()
	if s.Review == nil || !s.Review(s.T, s.url, number, d) {
		s.Skipf("the forge or harness does not have the decision %q", d)
	}
}

func (s *suite) reviews(number int) []forge.Review {
	s.Helper()
	all, err := can[forge.Reviewer](s, s.repo).Reviews(s.ctx, number)
	s.must(err)
	if !slices.IsSortedFunc(all, func(a, b forge.Review) int { return strings.Compare(a.Account, b.Account) }) {
		s.Errorf("not sorted: %+v", all)
	}
	return all
}

// review returns the only review.
func (s *suite) review(number int) forge.Review {
	s.Helper()
	all := s.reviews(number)
	if len(all) != 1 {
		s.Fatalf("got %+v, want one review", all)
	}
	return all[0]
}
