package promote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ReviewReader is a [Pipeline] whose pull requests are reviewed on a forge.
type ReviewReader interface {
	// ReadReviews returns the merged pull requests that took the GitOps branch of an environment from one commit to another, the newest
	// first, with their reviews. from is empty for all that there are. It returns nil if no forge hosts the repository.
	// An [UnreviewedError] explains why others than those pull requests may have changed the branch in between.
	ReadReviews(ctx context.Context, environment, from, to string) ([]ReviewedPullRequest, error)
}

// ReviewedPullRequest is a merged pull request with its reviews.
type ReviewedPullRequest struct {
	forge.PullRequest
	Host    forge.Forge
	Reviews []forge.Review
}

// UnreviewedError explains why no reviews are known that cover a rollout, and none will be.
type UnreviewedError string

// Error returns the explanation.
func (e UnreviewedError) Error() string { return string(e) }

const (
	// maxReviewed is how many pull requests of a rollout are read.
	maxReviewed = 20
	// reviewInterval is how often reviews are read while an approval is waited for. reuseReviews is how long they are used again, while
	// reports of clusters lead to many rounds.
	reviewInterval = time.Minute
	reuseReviews   = 10 * time.Second
	// reviewPatience limits the reading of one rollout's reviews, so that a slow forge does not hold the other environments of a round.
	reviewPatience = time.Minute
)

// ReadReviews is [ReviewReader.ReadReviews] for the pull requests from a head branch to the GitOps branch.
func ReadReviews(ctx context.Context, host forge.Forge, repo forge.Repository, head, base, from, to string) ([]ReviewedPullRequest, error) {
	reviewer, ok := repo.(forge.Reviewer)
	if !ok {
		return nil, UnreviewedError("reviews on this forge cannot be read")
	}
	merged, err := repo.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Merged, Head: head, Base: base, Limit: maxReviewed + 1})
	if err != nil {
		return nil, fmt.Errorf("find the pull requests: %w", err)
	}
	first := slices.IndexFunc(merged, func(p forge.PullRequest) bool { return to != "" && p.MergeCommit == to })
	if first < 0 {
		return nil, UnreviewedError(fmt.Sprintf("no pull request of Kalypso made %s, so that no review on the forge is one of it", fleet.ShortCommit(to)))
	}
	merged = merged[first:]
	if from != "" {
		last := slices.IndexFunc(merged, func(p forge.PullRequest) bool { return p.MergeCommit == from })
		if last < 0 {
			return nil, UnreviewedError(fmt.Sprintf("others than pull requests of Kalypso changed what ran before, %s, so that reviews on the forge do not cover all changes", fleet.ShortCommit(from)))
		}
		merged = merged[:last]
	}
	if len(merged) > maxReviewed {
		return nil, UnreviewedError(fmt.Sprintf("it consists of more than %d pull requests", maxReviewed))
	}
	all := make([]ReviewedPullRequest, len(merged))
	for i, p := range merged {
		reviews, err := reviewer.Reviews(ctx, p.Number)
		if err != nil {
			return nil, fmt.Errorf("read the reviews of %s: %w", p.URL, err)
		}
		all[i] = ReviewedPullRequest{PullRequest: p, Host: host, Reviews: reviews}
	}
	return all, nil
}

// coveredBy returns an [UnreviewedError] unless pull requests made each commit of a branch after one commit, up to another. line holds the
// commits that the branch pointed to, the oldest first.
func coveredBy(pulls []ReviewedPullRequest, line []Commit, from, to string) error {
	position := func(commit string) int { return slices.IndexFunc(line, func(c Commit) bool { return c.SHA == commit }) }
	first, last := position(from), position(to)
	if first < 0 || last < first {
		return UnreviewedError(fmt.Sprintf("the GitOps branch does not lead from %s, which ran before, to %s", fleet.ShortCommit(from), fleet.ShortCommit(to)))
	}
	for _, c := range line[first+1 : last+1] {
		if !slices.ContainsFunc(pulls, func(p ReviewedPullRequest) bool { return p.MergeCommit == c.SHA }) {
			return UnreviewedError(fmt.Sprintf("no pull request of Kalypso made %s, so that reviews on the forge do not cover all changes", fleet.ShortCommit(c.SHA)))
		}
	}
	return nil
}

// cachedReviews is what was read of a rollout.
type cachedReviews struct {
	at    time.Time
	pulls []ReviewedPullRequest
	err   error
}

// addReviews adds the reviews on the forge to the facts of a place whose rollout waits for approval. After that, they are those that
// are recorded.
//
// Reviews concern the environment and the first of its rings. Later rings exist so that a user decides again, after the first ran it.
func (r *round) addReviews(ctx context.Context, l *lane, e *decide.Environment, place EnvironmentState, rules *decide.Rules) {
	approval := func(c decide.Check) bool { return c.Approval != nil }
	if e.Unknown != "" || place.Rollout.State != decide.RolloutMerged || !slices.ContainsFunc(rules.Verify, approval) {
		return
	}
	environment, ring := decide.SplitRing(place.Environment)
	page := r.journal.page(place.Environment)
	if page.settled(place) {
		e.Reviews = r.journal.page(fleet.RingOfStage(place.Environment)).recordedReviews(place, r.asked(place))
		return
	}
	reader, ok := r.pipeline.(ReviewReader)
	waits := e.Verdict.Commit == place.Rollout.Commit && e.Verdict.Result == comply.Passed
	first := fleet.RingOfStage(place.Environment) == fleet.RingOfStage(l.facts.Chain.Names()[0])
	if !ok || r.People == nil || len(r.People.All) == 0 || !waits || ring != "" && !first {
		return
	}
	if published := page.revisions[place.Rollout.Commit]; ring == "" && published != "" && published != place.Commit {
		e.Reviews = []decide.Review{{Ignored: "its manifests are those of " + fleet.ShortCommit(published) + ", so that no pull request shows it"}}
		return
	}
	to, from := place.Rollout.Commit, ""
	if ring != "" {
		to = place.Commit
	}
	for _, s := range slices.Backward(page.records) {
		at := s.Revision
		if ring != "" {
			at = s.Commit
		}
		if s.Kind == decide.StepDeployed && at != to {
			from = at
			break
		}
	}
	read := r.subject.readReviews(environment+" "+from+" "+to, r.at, func() ([]ReviewedPullRequest, error) {
		ctx, cancel := context.WithTimeout(ctx, reviewPatience)
		defer cancel()
		return reader.ReadReviews(ctx, environment, from, to)
	})
	if r.again = append(r.again, r.at.Add(reviewInterval)); !read.at.Equal(r.at) {
		r.again = append(r.again, read.at.Add(reuseReviews)) // this round may be due to a review that came since
	}
	var unreviewed UnreviewedError
	switch {
	case errors.As(read.err, &unreviewed):
		e.Reviews = append(r.objections(place), decide.Review{Ignored: string(unreviewed)})
	case errors.Is(read.err, forge.ErrInvalid): // trying again does not help: there are too many
		e.Reviews = append(r.objections(place), decide.Review{Ignored: forge.OneLine(secret.Scrub(read.err.Error()), maxValue)})
	case read.err != nil:
		e.ReviewsUnknown = forge.OneLine(secret.Scrub(read.err.Error()), maxValue)
		e.Reviews = r.objections(place)
	default:
		e.Reviews = r.date(place, judge(r.People, read.pulls, r.authors(r.source(place.Environment, place.Commit)), r.asked(place)))
		r.reviewed[place.Environment] = true
	}
}

// date sets the times of approvals of which the forge does not tell one: when they were first seen. One after the timeout is late.
func (r *round) date(place EnvironmentState, reviews []decide.Review) []decide.Review {
	page := r.journal.page(fleet.RingOfStage(place.Environment))
	for i := range reviews {
		v := &reviews[i]
		if v.Ignored != "" || v.ChangesRequested || !v.At.IsZero() {
			continue
		}
		v.At = r.at
		if last := page.reviews[reviewKey{place.Rollout.Commit, v.By}]; !last.withdrawn && !last.ChangesRequested && last.Commit == v.Commit {
			v.At = last.recorded
		}
	}
	return reviews
}

// objections returns the recorded requests for changes of a rollout. They hold it while the forge does not tell whether they still stand.
func (r *round) objections(place EnvironmentState) []decide.Review {
	all := r.journal.page(fleet.RingOfStage(place.Environment)).recordedReviews(place, r.asked(place))
	return slices.DeleteFunc(all, func(v decide.Review) bool { return !v.ChangesRequested })
}

// readReviews returns what was read of a rollout, and reads it again if that is too long ago.
func (s *subject) readReviews(key string, now time.Time, read func() ([]ReviewedPullRequest, error)) cachedReviews {
	last, ok := s.reviews[key]
	if ok && now.Before(last.at.Add(reuseReviews)) && !now.Before(last.at) {
		return last
	}
	if s.reviews == nil || len(s.reviews) > 1000 {
		s.reviews = map[string]cachedReviews{}
	}
	pulls, err := read()
	s.reviews[key] = cachedReviews{now, pulls, err}
	return s.reviews[key]
}

// asked returns when a user last requested the commit of a place. What was approved before does not count.
func (r *round) asked(place EnvironmentState) time.Time {
	own, ring := r.journal.page(place.Environment), r.journal.page(fleet.RingOfStage(place.Environment))
	return later(own.ordered[place.Commit], ring.ordered[place.Commit])
}

// settled reports whether a rollout is recorded as deployed, so that reviews do not change it any more.
func (p *page) settled(place EnvironmentState) bool {
	for _, s := range slices.Backward(p.records) {
		if s.Kind != decide.StepStarted && s.Commit == place.Commit && s.Revision == place.Rollout.Commit {
			return s.Kind == decide.StepDeployed
		}
	}
	return false
}

// judge returns what reviews say about a rollout. authors are those of the promoted commit; asked is when it was last requested.
//
// A user approves the rollout by approving each of its pull requests, at the head that was merged. Asking for changes in one of them holds
// it. The author of a pull request or of the commit does neither, whatever the verification says: on a forge, people review each other.
func judge(people *forge.People, pulls []ReviewedPullRequest, authors []string, asked time.Time) []decide.Review {
	var all []decide.Review
	approved := map[string][]decide.Review{} // by user
	for _, pull := range pulls {
		counted := map[string]bool{} // several accounts can have the login of a user whose account people does not name
		for _, v := range pull.Reviews {
			if v.Decision != forge.Approved && v.Decision != forge.ChangesRequested {
				continue
			}
			person, err := people.Find(pull.Host, v)
			if err != nil {
				all = append(all, decide.Review{Ignored: fmt.Sprintf("%s by %s", decisions[v.Decision], readable(err.Error()))})
				continue
			}
			review := decide.Review{
				Approval: decide.Approval{
					By: person.User, Groups: person.Groups, At: v.At, Forge: people.Names[pull.Host], Login: v.Login, URL: cmp.Or(v.URL, pull.URL),
				},
				ChangesRequested: v.Decision == forge.ChangesRequested, Commit: v.Commit, Ignored: ignored(person, v, pull, authors, asked),
			}
			if review.ChangesRequested || review.Ignored != "" {
				all = append(all, review)
			} else if !counted[person.User] {
				approved[person.User], counted[person.User] = append(approved[person.User], review), true
			}
		}
	}
	for _, user := range slices.Sorted(maps.Keys(approved)) {
		review := approved[user][0] // of the newest pull request
		for _, other := range approved[user][1:] {
			review.At = later(review.At, other.At)
		}
		if n := len(approved[user]); n < len(pulls) {
			review.Ignored = fmt.Sprintf("%s approved %d of the %d pull requests of this rollout", user, n, len(pulls))
		}
		all = append(all, review)
	}
	return all
}

var decisions = map[forge.ReviewDecision]string{forge.Approved: "approved", forge.ChangesRequested: "changes requested"}

// ignored returns why the review of a user does not count; empty if it does.
func ignored(person forge.Person, v forge.Review, pull ReviewedPullRequest, authors []string, asked time.Time) string {
	given := v.At
	if given.IsZero() {
		given = pull.CreatedAt // the earliest time at which it can have been given
	}
	switch {
	case forge.SameLogin(v.Login, pull.Author):
		return fmt.Sprintf("%s is the author of the pull request", person.User)
	case len(authors) == 0:
		return fmt.Sprintf("the author of the commit is not known, and could be %s", person.User)
	case person.Authored(v, append(slices.Clone(authors), pull.Author)):
		return fmt.Sprintf("%s is the author of the commit", person.User)
	case given.Before(asked):
		return fmt.Sprintf("the review of %s is older than the last request for the commit", person.User)
	case v.Decision == forge.ChangesRequested:
		return ""
	case v.Commit == "":
		return fmt.Sprintf("the approval of %s does not count: %s", person.User, v.Unknown)
	case v.Commit != pull.Head.Commit:
		return fmt.Sprintf("%s approved %s, and %s was merged", person.User, fleet.ShortCommit(v.Commit), fleet.ShortCommit(pull.Head.Commit))
	}
	return ""
}

// readable returns a text of others in which letters that look like others can be told apart.
func readable(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return forge.OneLine(quoted[1:len(quoted)-1], maxValue)
}

// reviewKey identifies a user's review of a rollout.
type reviewKey struct{ revision, user string }

// recordedReview is the last step about a user's review.
type recordedReview struct {
	decide.Review
	withdrawn bool
	recorded  time.Time
}

// addReview adds a step about a review.
func (p *page) addReview(s ledger.Step, d Detail) {
	key := reviewKey{d.Revision, s.By}
	if s.At.Before(p.reviews[key].recorded) {
		return
	}
	p.reviews[key] = recordedReview{
		Review: decide.Review{
			Approval:         decide.Approval{By: s.By, Groups: d.Groups, At: d.Since, Forge: d.Forge, Login: d.Login, URL: d.URL},
			ChangesRequested: d.Review == forge.ChangesRequested, Commit: d.On,
		},
		withdrawn: d.Review == forge.Withdrawn, recorded: s.At,
	}
}

// recordedReviews returns the reviews of a rollout that were recorded since a time, and not withdrawn.
func (p *page) recordedReviews(place EnvironmentState, since time.Time) []decide.Review {
	var all []decide.Review
	for key, v := range p.reviews {
		if key.revision == place.Rollout.Commit && !v.withdrawn && !v.recorded.Before(since) {
			all = append(all, v.Review)
		}
	}
	slices.SortFunc(all, func(a, b decide.Review) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.By, b.By)) })
	return all
}

// addRecordedReviews adds to earlier carriers of a place the reviews that were recorded.
func (r *round) addRecordedReviews(carriers []decide.Carrier, place EnvironmentState) {
	page := r.journal.page(fleet.RingOfStage(place.Environment))
	if len(page.reviews) == 0 {
		return
	}
	for i := range carriers {
		earlier := place
		earlier.Commit, earlier.Rollout.Commit = carriers[i].Commit, carriers[i].Revision
		carriers[i].Reviews = page.recordedReviews(earlier, r.asked(earlier))
	}
}

// noteReviews records reviews that count or hold a rollout, and that they were withdrawn, each once.
func (r *round) noteReviews(ctx context.Context, place EnvironmentState) error {
	if !r.reviewed[place.Environment] {
		return nil
	}
	page, there := r.journal.page(fleet.RingOfStage(place.Environment)), map[string]bool{}
	for _, v := range r.environment(place.Environment).Reviews {
		if v.By == "" || v.Ignored != "" || there[v.By] {
			continue
		}
		there[v.By] = true
		last, known := page.reviews[reviewKey{place.Rollout.Commit, v.By}]
		if known && !last.withdrawn && last.ChangesRequested == v.ChangesRequested && last.Commit == v.Commit {
			continue
		}
		decision := forge.Approved
		if v.ChangesRequested {
			decision = forge.ChangesRequested
		}
		if err := r.recordReview(ctx, place, v, decision); err != nil {
			return err
		}
	}
	for _, v := range page.recordedReviews(place, r.asked(place)) {
		if !there[v.By] {
			if err := r.recordReview(ctx, place, v, forge.Withdrawn); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordReview records what a user decided about a rollout on a forge.
func (r *round) recordReview(ctx context.Context, place EnvironmentState, v decide.Review, decision forge.ReviewDecision) error {
	said := map[forge.ReviewDecision]string{
		forge.Approved: "approved", forge.ChangesRequested: "requested changes", forge.Withdrawn: "withdrew the review",
	}[decision]
	d := Detail{
		Revision: place.Rollout.Commit, Review: decision, Forge: v.Forge, Login: v.Login, URL: v.URL, On: v.Commit, Groups: v.Groups,
		Since: v.At, Workspace: r.reading.Workspace,
	}
	detail, err := json.Marshal(d)
	if err != nil {
		return err
	}
	where := fleet.RingOfStage(place.Environment)
	s := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: r.reading.Subject, Commit: place.Commit, Environment: where},
		Kind:        string(Reviewed), By: v.By, Reason: fmt.Sprintf("%s as %s on %s", said, v.Login, v.Forge),
		At: r.journal.page(where).next(r.at), Detail: detail,
	}
	if err := r.Ledger.RecordStep(ctx, s); err != nil {
		return err
	}
	r.journal.absorb(s)
	r.did(fmt.Sprintf("recorded that %s %s of %s in %s", v.By, s.Reason, fleet.ShortCommit(place.Commit), where))
	return nil
}
