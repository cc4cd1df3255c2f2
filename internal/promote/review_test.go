package promote_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// mergedHead is the head of the pull request that made the rollout.
var mergedHead = sha("head")

// people are three users on the only forge, which is nil here.
var people = &forge.People{Names: map[forge.Forge]string{nil: "github"}, All: []forge.Person{
	{User: "anna@example.com", Groups: []string{"release"}, Logins: map[string]string{"github": "anna"}, Accounts: map[string]string{"github": "1"}},
	{User: "ben@example.com", Groups: []string{"release"}, Logins: map[string]string{"github": "ben"}},
	{User: "dora@example.com", Groups: []string{"release"}, Logins: map[string]string{"github": "dora-dev"}},
	{User: "eve@example.com", Logins: map[string]string{"github": "eve"}},
}}

// reviewed is a review of the head that was merged, an hour before noon.
func reviewed(login, account string, d forge.ReviewDecision) forge.Review {
	return forge.Review{Login: login, Account: account, Decision: d, Commit: mergedHead, At: noon.Add(-time.Hour), URL: "https://github.example/pull/7#" + login}
}

// pulled is the merged pull request with reviews.
func pulled(reviews ...forge.Review) promote.ReviewedPullRequest {
	return promote.ReviewedPullRequest{
		PullRequest: forge.PullRequest{
			Number: 7, URL: "https://github.example/pull/7", State: forge.Merged, Author: "kalypso-bot", Head: forge.Ref{Commit: mergedHead},
			CreatedAt: noon.Add(-2 * time.Hour),
		},
		Reviews: reviews,
	}
}

// reviewing returns a bench whose only environment waits for a release manager who is not the author.
func reviewing(t *testing.T, a v1alpha1.ApprovalVerification, pulls ...promote.ReviewedPullRequest) *bench {
	b, _ := measuring(t, nil, v1alpha1.Verification{Name: "release", Approval: &a})
	b.promoter.People = people
	b.fakePipeline.reading.Line[0].Authors = []string{"Dora", "dora@example.com"}
	b.fakePipeline.pulls = pulls
	for range 3 {
		b.round()
	}
	return b
}

var releaseManagers = v1alpha1.ApprovalVerification{Groups: []string{"release"}, NotAuthor: true}

func TestReviewsThatCount(t *testing.T) {
	old := reviewed("anna", "1", forge.Approved)
	old.Commit = sha("before")
	unknown := reviewed("anna", "1", forge.Approved)
	unknown.Commit, unknown.Unknown = "", "the forge does not tell which commit was reviewed"
	other := reviewed("kalypso-bot", "9", forge.Approved)
	ownPull := pulled(reviewed("anna", "1", forge.Approved))
	ownPull.Author = "Anna"
	const none = "0 of 1 approvals by members of release, not by the author"
	for name, test := range map[string]struct {
		pulls []promote.ReviewedPullRequest
		want  string // of the reason; empty for deployed
	}{
		"an approval of the merged head":   {[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved))}, ""},
		"a login in another case":          {[]promote.ReviewedPullRequest{pulled(reviewed("Anna", "1", forge.Approved))}, ""},
		"no reviews":                       {[]promote.ReviewedPullRequest{pulled()}, none},
		"a commit pushed after approval":   {[]promote.ReviewedPullRequest{pulled(old)}, none + "; anna@example.com approved 6265666, and 6865616 was merged"},
		"an approval of an unknown commit": {[]promote.ReviewedPullRequest{pulled(unknown)}, none + "; the approval of anna@example.com does not count: the forge does not tell which commit was reviewed"},
		"a second account of the author":   {[]promote.ReviewedPullRequest{pulled(reviewed("dora-private", "5", forge.Approved))}, none + "; approved by login dora-private on github, which people does not list"},
		"the author of the commit":         {[]promote.ReviewedPullRequest{pulled(reviewed("dora-dev", "4", forge.Approved))}, none + "; dora@example.com is the author of the commit"},
		"the author of the pull request":   {[]promote.ReviewedPullRequest{ownPull}, none + "; anna@example.com is the author of the pull request"},
		"the bot":                          {[]promote.ReviewedPullRequest{pulled(other)}, none + "; approved by login kalypso-bot on github, which people does not list"},
		"a login that another account took": {
			[]promote.ReviewedPullRequest{pulled(reviewed("anna", "6", forge.Approved))},
			none + "; approved by login anna on github, which is another account now than the one in people",
		},
		"a login that looks like another": {
			[]promote.ReviewedPullRequest{pulled(reviewed("\u0430nna", "6", forge.Approved))},
			none + `; approved by login \u0430nna on github, which people does not list`,
		},
		"a user of no group": {[]promote.ReviewedPullRequest{pulled(reviewed("eve", "3", forge.Approved))}, none + `; "release" is approved by members of release`},
		"withdrawn":          {[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Withdrawn))}, none},
		"changes requested by another release manager": {
			[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved), reviewed("ben", "2", forge.ChangesRequested))},
			"1 of 1 approvals by members of release, not by the author; ben@example.com requested changes (https://github.example/pull/7#ben)",
		},
		"changes requested by a user of no group": {
			[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved), reviewed("eve", "3", forge.ChangesRequested))}, "",
		},
		"changes requested by a stranger": {
			[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved), reviewed("mallory", "8", forge.ChangesRequested))}, "",
		},
		"one of two pull requests": {
			[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved)), pulled()},
			none + "; anna@example.com approved 1 of the 2 pull requests of this rollout",
		},
		"both pull requests": {
			[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved)), pulled(reviewed("anna", "1", forge.Approved))}, "",
		},
		"one of two pull requests, by two accounts with the same login": {
			[]promote.ReviewedPullRequest{pulled(reviewed("ben", "2", forge.Approved), reviewed("Ben", "5", forge.Approved)), pulled()},
			none + "; ben@example.com approved 1 of the 2 pull requests of this rollout",
		},
		"two pull requests, each approved by another": {
			[]promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved)), pulled(reviewed("ben", "2", forge.Approved))},
			none + "; anna@example.com approved 1 of the 2 pull requests of this rollout; ben@example.com approved 1 of the 2 pull requests of this rollout",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := reviewing(t, releaseManagers, test.pulls...).round().Environments[0]
			switch {
			case test.want == "" && s.Phase != decide.Good:
				t.Errorf("%s: %s", s.Phase, s.Reason)
			case test.want != "" && (s.Phase != decide.Awaiting || !strings.HasSuffix(s.Reason, ": "+test.want)):
				t.Errorf("got %s: %s\nwant ... %s", s.Phase, s.Reason, test.want)
			}
		})
	}
}

// TestReviewsAreRecordedOnce approves on the forge and on a page. Each review is a step, once, and stays visible.
func TestReviewsAreRecordedOnce(t *testing.T) {
	a := releaseManagers
	a.Count = 2
	b := reviewing(t, a, pulled(reviewed("anna", "1", forge.Approved)))
	if s := b.round().Environments[0]; !strings.Contains(s.Reason, "1 of 2 approvals") {
		t.Fatal(s.Reason)
	}
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now }}
	for _, by := range []string{"anna@example.com", "ben@example.com"} {
		command := promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), Check: "release", Groups: []string{"release"}, By: by}
		if err := control.Approve(t.Context(), command); err != nil {
			t.Fatal(err)
		}
		if s := b.round().Environments[0]; by == "anna@example.com" && s.Phase != decide.Awaiting {
			t.Errorf("a user who approves twice counts twice: %s", s.Reason)
		}
	}
	b.fakePipeline.pulls = nil // it is deployed: what happens to reviews later changes nothing
	s := b.round().Environments[0]
	if s.Phase != decide.Good || len(s.Checks[0].Approvals) != 2 || s.Checks[0].Approvals[0].URL != "https://github.example/pull/7#anna" {
		t.Errorf("%s: %+v", s.Phase, s.Checks)
	}
	want := []string{"anna@example.com: approved as anna on github, of " + mergedHead}
	if diff := cmp.Diff(want, reviewSteps(t, b)); diff != "" {
		t.Error(diff)
	}
	if got := b.fakePipeline.statuses[sha("one")+" dev/release"].Description; got != "Approved by anna@example.com, ben@example.com" {
		t.Error(got)
	}
}

// reviewSteps returns the recorded reviews, the oldest first.
func reviewSteps(t *testing.T, b *bench) []string {
	t.Helper()
	steps, err := b.ledger.Steps(t.Context(), ledger.StepQuery{Subject: controlPlane, Kind: string(promote.Reviewed)})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(steps)
	var all []string
	for _, s := range steps {
		var d promote.Detail
		if err := json.Unmarshal(s.Detail, &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, s.By+": "+s.Reason+", of "+d.On)
	}
	return all
}

// TestReviewsThatChange: what a user decided before the commit is deployed can be changed, on the forge and on a page.
func TestReviewsThatChange(t *testing.T) {
	a := releaseManagers
	a.Count = 2
	b := reviewing(t, a, pulled(reviewed("anna", "1", forge.Approved)))
	for _, step := range []struct {
		decision forge.ReviewDecision
		want     string
	}{
		{forge.Withdrawn, "0 of 2 approvals by members of release, not by the author"},
		{forge.ChangesRequested, "0 of 2 approvals by members of release, not by the author; anna@example.com requested changes (https://github.example/pull/7#anna)"},
		{forge.Approved, "1 of 2 approvals by members of release, not by the author"},
	} {
		b.fakePipeline.pulls = []promote.ReviewedPullRequest{pulled(reviewed("anna", "1", step.decision))}
		b.now = b.now.Add(-55 * time.Second) // a report of a cluster leads to another round, five seconds after the last one
		if o := b.round(); strings.HasSuffix(o.Environments[0].Reason, step.want) || o.Next.Sub(b.now) > 5*time.Second {
			t.Errorf("%s: read again at once, or too late, at %s: %s", step.decision, o.Next, o.Environments[0].Reason)
		}
		if s := b.round().Environments[0]; !strings.HasSuffix(s.Reason, ": "+step.want) {
			t.Errorf("%s: %s", step.decision, s.Reason)
		}
	}
	want := []string{"approved", "withdrew the review", "requested changes", "approved"}
	for i := range want {
		want[i] = "anna@example.com: " + want[i] + " as anna on github, of " + mergedHead
	}
	if diff := cmp.Diff(want, reviewSteps(t, b)); diff != "" {
		t.Error(diff)
	}
}

// TestAForgeThatIsDown: approvals that are not known are waited for, also after the timeout, and never count.
func TestAForgeThatIsDown(t *testing.T) {
	b, _ := measuring(t, nil, v1alpha1.Verification{Name: "release", Timeout: &metav1.Duration{Duration: time.Hour}, Approval: &releaseManagers})
	b.promoter.People = people
	b.fakePipeline.reading.Line[0].Authors = []string{"dora@example.com"}
	b.fakePipeline.reviewsErr = errors.New("503 Service Unavailable")
	for range 3 {
		b.round()
	}
	for _, later := range []time.Duration{time.Minute, 2 * time.Hour} {
		b.now = b.now.Add(later)
		reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "a")
		o := b.round()
		want := "0 of 1 approvals by members of release, not by the author; the reviews on the forge are not known: 503 Service Unavailable"
		if s := o.Environments[0]; s.Phase != decide.Awaiting || !strings.HasSuffix(s.Reason, want) {
			t.Errorf("%s: %s", s.Phase, s.Reason)
		}
		if wait := o.Next.Sub(b.now); wait > time.Minute {
			t.Errorf("it is tried again after %s", wait)
		}
	}
	b.fakePipeline.reviewsErr, b.fakePipeline.pulls = nil, []promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved))}
	b.now = b.now.Add(time.Minute)
	reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "a")
	b.round()
	if s := b.round().Environments[0]; s.Phase != decide.Good {
		t.Errorf("%s: %s", s.Phase, s.Reason)
	}
}

// TestARequestForChangesHolds: it holds the commit while the forge is down, whichever users approve on a page, until the same user approves there.
func TestARequestForChangesHolds(t *testing.T) {
	b := reviewing(t, releaseManagers, pulled(reviewed("ben", "2", forge.ChangesRequested)))
	b.fakePipeline.reviewsErr = errors.New("503 Service Unavailable")
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now }}
	for _, by := range []string{"anna@example.com", "ben@example.com"} {
		if s := b.round().Environments[0]; s.Phase != decide.Awaiting || !strings.Contains(s.Reason, "ben@example.com requested changes") {
			t.Errorf("before %s approves: %s: %s", by, s.Phase, s.Reason)
		}
		command := promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), Check: "release", Groups: []string{"release"}, By: by}
		if err := control.Approve(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	b.round()
	if s := b.round().Environments[0]; s.Phase != decide.Good {
		t.Errorf("%s: %s", s.Phase, s.Reason)
	}
}

// TestTooManyReviews: a pull request that is flooded with comments cannot be approved there, and does not stop the timeout.
func TestTooManyReviews(t *testing.T) {
	b := reviewing(t, releaseManagers)
	b.fakePipeline.reviewsErr = forge.TooManyReviews(forge.MaxReviews+1, "acme/gitops")
	if s := b.round().Environments[0]; s.Phase != decide.Awaiting || strings.Contains(s.Reason, "not known") || !strings.Contains(s.Reason, "too many reviews") {
		t.Errorf("%s: %s", s.Phase, s.Reason)
	}
}

// TestReviewsThatCannotBeRead: a request for changes holds the commit, also if its pull request is flooded with comments, or pushes
// to the GitOps branch, so that later reviews do not count.
func TestReviewsThatCannotBeRead(t *testing.T) {
	for _, err := range []error{forge.TooManyReviews(forge.MaxReviews+1, "acme/gitops"), promote.UnreviewedError("no pull request of Kalypso made 1234567")} {
		b := reviewing(t, releaseManagers, pulled(reviewed("ben", "2", forge.ChangesRequested)))
		b.fakePipeline.reviewsErr = err
		control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now }}
		command := promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), Check: "release", Groups: []string{"release"}, By: "anna@example.com"}
		if err := control.Approve(t.Context(), command); err != nil {
			t.Fatal(err)
		}
		b.round()
		if s := b.round().Environments[0]; s.Phase != decide.Awaiting || !strings.Contains(s.Reason, "ben@example.com requested changes") {
			t.Errorf("%v: %s: %s", err, s.Phase, s.Reason)
		}
	}
}

// TestReviewsWithoutTimes: where the forge does not tell when a vote was cast, it is when a round first saw it. So a late one does not
// change a result that is final, and one in time counts after the timeout, too.
func TestReviewsWithoutTimes(t *testing.T) {
	vote := reviewed("anna", "1", forge.Approved)
	vote.At = time.Time{}
	later := v1alpha1.Verification{Name: "later", Approval: &v1alpha1.ApprovalVerification{Count: 2}}
	for name, test := range map[string]struct {
		late bool
		want decide.State
	}{"in time": {false, decide.Awaiting}, "too late": {true, decide.Failed}} {
		b, _ := measuring(t, nil, v1alpha1.Verification{Name: "release", Timeout: &metav1.Duration{Duration: time.Hour}, Approval: &releaseManagers}, later)
		b.promoter.People = people
		b.fakePipeline.reading.Line[0].Authors = []string{"dora@example.com"}
		b.fakePipeline.pulls = []promote.ReviewedPullRequest{pulled()}
		next := func(wait time.Duration) promote.Standing {
			b.now = b.now.Add(wait)
			reports(t, b.ledger, "dev", revision("dev", sha("one")), b.now, "a")
			return b.round().Environments[0]
		}
		for range 3 {
			next(0)
		}
		if !test.late {
			b.fakePipeline.pulls = []promote.ReviewedPullRequest{pulled(vote)}
			next(time.Minute)
		}
		next(2 * time.Hour)
		b.fakePipeline.pulls = []promote.ReviewedPullRequest{pulled(vote)}
		for range 2 {
			if s := next(time.Minute); s.Phase != test.want {
				t.Errorf("%s: %s: %s", name, s.Phase, s.Reason)
			}
		}
	}
}

// TestReviewsBeforeARequest: a new request for the commit needs new approvals.
func TestReviewsBeforeARequest(t *testing.T) {
	b := reviewing(t, releaseManagers, pulled())
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now }}
	if err := control.Order(t.Context(), promote.Command{Subject: controlPlane, Environment: "dev", Commit: sha("one"), By: "eve"}); err != nil {
		t.Fatal(err)
	}
	b.fakePipeline.pulls = []promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved))}
	b.round()
	if s := b.round().Environments[0]; !strings.Contains(s.Reason, "the review of anna@example.com is older than the last request for the commit") {
		t.Error(s.Reason)
	}
}

// TestReviewsOfAnEarlierCommit: a commit that changes no manifests has no pull request that could have been reviewed.
func TestReviewsOfAnEarlierCommit(t *testing.T) {
	b := reviewing(t, releaseManagers, pulled(reviewed("anna", "1", forge.Approved)))
	if s := b.round().Environments[0]; s.Phase != decide.Good {
		t.Fatal(s.Reason)
	}
	b.fakePipeline.reading.Line = append(b.fakePipeline.reading.Line, promote.Commit{SHA: sha("two"), Authors: []string{"dora@example.com"}})
	b.fakePipeline.place("dev").Commit = sha("two") // with the same rollout
	for range 3 {
		b.round()
	}
	want := "0 of 1 approvals by members of release, not by the author; its manifests are those of 6f6e650, so that no pull request shows it"
	if s := b.round().Environments[0]; s.Phase != decide.Awaiting || !strings.HasSuffix(s.Reason, want) {
		t.Errorf("%s: %s", s.Phase, s.Reason)
	}
}

// TestReviewsInRings: a review approves the rollout in the first ring and, after all rings, in the environment. Other rings need more.
func TestReviewsInRings(t *testing.T) {
	release := []v1alpha1.Verification{{Name: "release", Approval: &releaseManagers}}
	b := ringedBy(t, &v1alpha1.Promotion{Verify: release, Rings: []v1alpha1.Ring{{Name: "canary", Verify: release}, {Name: "others", Verify: release}}})
	b.promoter.People = people
	b.fakePipeline.reading.Line[0].Authors = []string{"dora@example.com"}
	b.fakePipeline.pulls = []promote.ReviewedPullRequest{pulled(reviewed("anna", "1", forge.Approved))}
	o := b.follow()
	rings := o.Environments[0].Rings
	if rings[0].Phase != decide.Good {
		t.Errorf("canary: %s", rings[0].Reason)
	}
	if rings[1].Phase != decide.Awaiting || !strings.HasSuffix(rings[1].Reason, `"release": 0 of 1 approvals by members of release, not by the author`) {
		t.Errorf("others: %s: %s", rings[1].Phase, rings[1].Reason)
	}
	command := promote.Command{
		Subject: controlPlane, Environment: "prod/others", Commit: revision("prod", sha("one")), Check: "release", By: "ben@example.com", Groups: []string{"release"},
	}
	control := &promote.Control{Ledger: b.ledger, Now: func() time.Time { return b.now }}
	if err := control.Approve(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	if s := b.follow().Environments[0]; s.Phase != decide.Good {
		t.Errorf("%s: %s", s.Phase, s.Reason)
	}
	want := []string{"anna@example.com: approved as anna on github, of " + mergedHead, "anna@example.com: approved as anna on github, of " + mergedHead}
	if diff := cmp.Diff(want, reviewSteps(t, b)); diff != "" {
		t.Error("once in the ring, once in the environment:", diff)
	}
}
