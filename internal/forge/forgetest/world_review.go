package forgetest

import (
	"hash/crc32"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Review is a review of a pull request in a [World]. Without a decision it is a comment.
type Review struct {
	ID int
	forge.Review
}

// Head is a head that a pull request had, and since when.
type Head struct {
	Commit string
	At     time.Time
}

// AccountID returns the ID of an account.
func AccountID(name string) int { return int(crc32.ChecksumIEEE([]byte(name))) + 1 }

// AddReview reviews a pull request at its head.
func (r *Repo) AddReview(actor string, c *PullRequest, d forge.ReviewDecision) *Review {
	r.world.counter++
	v := &Review{ID: r.world.counter, Review: forge.Review{
		Login: actor, Account: strconv.Itoa(AccountID(actor)), Decision: d, Commit: c.Head.Commit, At: r.world.tick(),
		URL: "https://forge.example.com/reviews/" + strconv.Itoa(r.world.counter),
	}}
	c.Reviews = append(c.Reviews, v)
	r.Tell(Event{Kind: forge.EventPullRequest, Actor: actor, Action: "reviewed", PullRequest: c})
	return v
}

// Dismiss withdraws the decisions of an account about a pull request.
func (c *PullRequest) Dismiss(login string) {
	for _, v := range c.Reviews {
		if v.Login == login && v.Decision != "" {
			v.Decision = forge.Withdrawn
		}
	}
}

// Decisions returns the last decision of each account about a pull request.
func (c *PullRequest) Decisions() []forge.Review {
	var decided []forge.Review
	for _, v := range c.Reviews {
		if v.Decision != "" {
			decided = append(decided, v.Review)
		}
	}
	return forge.LastReviews(decided)
}

// Review reviews a pull request at its head, as an account. [forge.Withdrawn] dismisses its decisions.
func (s *Server) Review(url string, number int, login string, d forge.ReviewDecision) {
	s.World.Do(func() {
		c := s.Repo(url).PullRequest(number)
		if d == forge.Withdrawn {
			c.Dismiss(login)
			return
		}
		s.Repo(url).AddReview(login, c, d)
	})
}
