package forge

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// MaxReviews limits the reviews that are read of one pull request. With more of them, a decision could be missed, so that
// [Reviewer.Reviews] fails.
const MaxReviews = 1000

// Reviewer reads what reviewers decided about a pull request.
type Reviewer interface {
	// Reviews returns the last decision of each account, sorted by account. Comments decide nothing.
	// The error is [ErrInvalid] if the pull request has more than [MaxReviews] reviews.
	Reviews(ctx context.Context, number int) ([]Review, error)
}

// Review is the decision of an account about a pull request.
type Review struct {
	// Login is the name of the account. It can be changed, and another account can get it then.
	Login string // required
	// Account is the forge's ID of the account, which does not change. It is the login where accounts cannot be renamed.
	Account  string         // required
	Decision ReviewDecision // required
	// Commit is the head that was reviewed. It is empty if that is not known for certain, and Unknown explains why.
	Commit  string
	Unknown string
	// At is when it was decided; zero if the forge does not tell.
	At time.Time
	// URL is its page, or that of the pull request.
	URL string
}

// ReviewDecision is what a reviewer decided.
type ReviewDecision string

// The decisions.
const (
	Approved         ReviewDecision = "approved"
	ChangesRequested ReviewDecision = "changesRequested"
	// Withdrawn means that an approval or a request for changes was dismissed, by the reviewer or by others.
	Withdrawn ReviewDecision = "withdrawn"
)

// The limits of the texts of a review. Longer ones are not those of an account or a page.
const (
	longestLogin = 256
	longestURL   = 2000
)

// LastReviews returns the last decision of each account, sorted by account. all are in the order in which they were made.
// A review without an account, as of one that was deleted, is left out. It does not trust the texts.
func LastReviews(all []Review) []Review {
	last := map[string]Review{}
	for _, r := range all {
		if !plainText(r.Login, longestLogin) || !plainText(r.Account, longestLogin) {
			continue
		}
		if !plainText(r.URL, longestURL) || !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://") {
			r.URL = ""
		}
		if !isCommit(r.Commit) {
			r.Commit, r.Unknown = "", cmp.Or(r.Unknown, "the forge does not tell which commit was reviewed")
		}
		last[r.Account] = r
	}
	reviews := make([]Review, 0, len(last))
	for _, r := range last {
		reviews = append(reviews, r)
	}
	slices.SortFunc(reviews, func(a, b Review) int { return cmp.Compare(a.Account, b.Account) })
	return reviews
}

// TooManyReviews returns the error of [Reviewer.Reviews] for a repository, or nil if n reviews are not too many.
func TooManyReviews(n int, where string) error {
	if n <= MaxReviews {
		return nil
	}
	return &Error{
		Kind: ErrInvalid, Op: "read reviews", Where: where, Detail: "the pull request has too many reviews to know the last ones",
		Hint: "approve on the page of the environment",
	}
}

// SameLogin reports whether two logins are those of the same account, on forges that ignore case. Only ASCII letters have a case:
// the letters of other alphabets that look alike, or fold to ASCII, make another login.
func SameLogin(a, b string) bool { return a != "" && lowerASCII(a) == lowerASCII(b) }

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// plainText reports whether a text is not empty, not too long, and has no control characters or spaces around it.
func plainText(s string, limit int) bool {
	return s != "" && len(s) <= limit && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isCommit reports whether a text is a full commit hash.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
