package promote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// journal holds the ledger's steps of one subject, by environment. The first refresh reads all steps; later ones read new steps,
// with a margin for steps of servers whose clocks are behind.
type journal struct {
	pages map[string]*page
	// seen holds the steps within the margin.
	seen map[stepKey]bool
	// whole is when all steps were last read, newest the time of the newest step.
	whole, newest time.Time
	// said is when an error was last returned, by environment and text.
	said map[[2]string]time.Time
}

type stepKey struct {
	commit, environment, kind string
	at                        int64
}

const (
	// margin is how far back each refresh reads steps again.
	margin = time.Hour
	// rereadAfter is when all steps are read again, because an import may have added old steps.
	rereadAfter = 6 * time.Hour
)

// page holds the state of one environment according to its steps.
type page struct {
	// records are the steps that were recorded for people, oldest first, so that none is recorded twice. Two promoters may have recorded
	// the same step.
	records []recordedStep
	// publications are the revisions that the branch had, oldest first. They are facts.
	publications []publication
	// published is when each commit of the GitOps branch was published.
	published map[string]time.Time
	// revisions are the commits under which those commits were published.
	revisions map[string]string
	// results holds what is recorded of verifications, in the order in which it was read.
	results []result
	// jobs holds what clusters answered about Jobs, by the ID of the run.
	jobs    map[string]jobAnswers
	pause   *decide.Pause
	resumed time.Time
	aborts  map[string]decide.Abort
	// rollbacks are the commands that took commits back, oldest first.
	rollbacks []decide.Rollback
	skips     map[string]decide.Skip
	// order is the newest request, ordered the last request time of each commit, and fulfilled the IDs of completed requests.
	order     *decide.Request
	ordered   map[string]time.Time
	fulfilled map[string]bool
	// edited is the commit that a user wrote into the environment without a promotion, if it is the last promoted one.
	edited string
	// emptied is when it was last found that this batch has no clusters.
	emptied time.Time
	decided recordedDecision
	// shown holds the last statuses, by verification and commit, and full those of which the forge stores no more.
	shown map[decide.CheckCommit]postedStatus
	full  map[decide.CheckCommit]bool
	// bypasses and approvals are the users' commands for verifications, by commit.
	bypasses  map[string][]decide.Bypass
	approvals map[string][]decide.Approval
	// reviews are the last steps about reviews on the forge.
	reviews map[reviewKey]recordedReview
	// proposed and withdrawn hold the proposals that were opened and withdrawn.
	proposed, withdrawn map[proposalKey]bool
	// last is the time of the newest step.
	last time.Time
}

// recordedStep is that a commit was started, deployed or failed.
type recordedStep struct {
	Kind             decide.StepKind
	Commit, Revision string
	At               time.Time
}

// publication is that a branch got a revision.
type publication struct {
	revision, commit string
	at               time.Time
}

type result struct {
	decide.CheckResult
	commit string
}

// recordedDecision is the last recorded decision.
type recordedDecision struct {
	Detail
	commit, reason string
	at             time.Time
}

// proposalKey identifies a proposal: the commit to promote, and the URL of the pull request.
type proposalKey struct{ commit, url string }

// postedStatus is the last status of a commit. filed is the commit of main under which it is recorded.
type postedStatus struct {
	decide.Status
	filed string
	at    time.Time
	// percent is how many of the clusters its description counts, posted how many statuses the commit has.
	percent, posted int
}

// refresh reads new steps.
func (j *journal) refresh(ctx context.Context, from Ledger, subject string, now time.Time) error {
	q := ledger.StepQuery{Subject: subject}
	whole := j.pages == nil || now.Sub(j.whole) > rereadAfter || now.Before(j.whole)
	if !whole {
		q.From = j.newest.Add(-margin)
	}
	steps, err := from.Steps(ctx, q)
	if err != nil {
		return fmt.Errorf("read the steps of %q: %w", subject, err)
	}
	if whole {
		*j = journal{pages: map[string]*page{}, seen: map[stepKey]bool{}, whole: now, said: j.said}
	}
	slices.Reverse(steps)
	for _, s := range steps {
		j.absorb(s)
	}
	for key := range j.seen {
		if key.at < j.newest.Add(-margin).UnixMicro() {
			delete(j.seen, key)
		}
	}
	return nil
}

// repeatErrors is how long an error that every round would repeat is returned only once.
const repeatErrors = time.Hour

// saidBefore reports whether an error was returned within [repeatErrors], and notes it otherwise.
func (j *journal) saidBefore(environment, text string, now time.Time) bool {
	key := [2]string{environment, text}
	if at, ok := j.said[key]; ok && now.Sub(at) < repeatErrors {
		return true
	}
	if j.said == nil || len(j.said) > 1000 {
		j.said = map[[2]string]time.Time{}
	}
	j.said[key] = now
	return false
}

// page returns the state of an environment.
func (j *journal) page(environment string) *page {
	p := j.pages[environment]
	if p == nil {
		p = &page{
			published: map[string]time.Time{}, revisions: map[string]string{}, skips: map[string]decide.Skip{}, aborts: map[string]decide.Abort{}, ordered: map[string]time.Time{},
			fulfilled: map[string]bool{}, shown: map[decide.CheckCommit]postedStatus{}, full: map[decide.CheckCommit]bool{},
			bypasses: map[string][]decide.Bypass{}, approvals: map[string][]decide.Approval{}, reviews: map[reviewKey]recordedReview{},
			proposed: map[proposalKey]bool{}, withdrawn: map[proposalKey]bool{}, jobs: map[string]jobAnswers{},
		}
		j.pages[environment] = p
	}
	return p
}

// absorb adds a step. The result does not depend on the order of the calls: the newest step wins.
func (j *journal) absorb(s ledger.Step) {
	key := stepKey{s.Commit, s.Environment, s.Kind, s.At.UnixMicro()}
	if j.seen[key] {
		return
	}
	j.seen[key] = true
	if s.At.After(j.newest) {
		j.newest = s.At
	}
	p := j.page(s.Environment)
	if s.At.After(p.last) {
		p.last = s.At
	}
	var d Detail
	if len(s.Detail) > 0 && json.Unmarshal(s.Detail, &d) != nil {
		d = Detail{} // written by another program; kind and commit are enough
	}
	if !p.addStep(s, d) {
		p.addCommand(s, d)
	}
}

// addStep adds a step that a promoter recorded. It returns false for other kinds.
func (p *page) addStep(s ledger.Step, d Detail) bool {
	switch kind := decide.StepKind(s.Kind); kind {
	case decide.StepStarted, decide.StepDeployed, decide.StepFailed:
		p.insert(recordedStep{Kind: kind, Commit: s.Commit, Revision: d.Revision, At: s.At})
		if s.Reason == editedByHand {
			p.edited = s.Commit
		}
	case Emptied:
		p.emptied = later(p.emptied, s.At)
	case Published:
		p.publications = insertByTime(p.publications, publication{d.Revision, s.Commit, s.At}, func(p publication) time.Time { return p.at })
		if at, ok := p.published[d.Revision]; !ok || s.At.Before(at) {
			p.published[d.Revision], p.revisions[d.Revision] = s.At, s.Commit
		}
	case Verifying, Verified:
		check := decide.CheckResult{Name: d.Check, Revision: d.Revision, State: d.Result, Value: d.Value, Reason: s.Reason, At: s.At}
		p.results = append(p.results, result{check, s.Commit})
		if d.Result != decide.CheckWaiting {
			delete(p.jobs, d.Job) // thousands of answers, which are counted
		}
	case Ran:
		p.addAnswers(d, s.At)
	case StateChanged:
		if !s.At.Before(p.decided.at) {
			p.decided = recordedDecision{d, s.Commit, s.Reason, s.At}
		}
	case StatusPosted:
		p.addStatus(s, d)
	case Proposed:
		p.proposed[proposalKey{s.Commit, d.URL}] = true
	case Withdrawn:
		p.withdrawn[proposalKey{s.Commit, d.URL}] = true
	default:
		return false
	}
	return true
}

// addCommand adds a user's command.
func (p *page) addCommand(s ledger.Step, d Detail) {
	switch decide.StepKind(s.Kind) {
	case Paused:
		if p.pause == nil || s.At.After(p.pause.At) {
			p.pause = &decide.Pause{By: s.By, Why: s.Reason, At: s.At}
		}
	case Resumed:
		p.resumed = later(p.resumed, s.At)
	case Aborted:
		if s.At.After(p.aborts[s.Commit].At) {
			p.aborts[s.Commit] = decide.Abort{Commit: s.Commit, By: s.By, Why: s.Reason, At: s.At}
		}
	case RolledBack:
		b := decide.Rollback{Commit: s.Commit, To: d.To, By: s.By, Why: s.Reason, At: s.At, Fast: d.Fast, Now: d.Now, All: d.All}
		p.rollbacks = insertByTime(p.rollbacks, b, func(b decide.Rollback) time.Time { return b.At })
	case Skipped:
		if s.At.After(p.skips[s.Commit].At) {
			p.skips[s.Commit] = decide.Skip{Commit: s.Commit, By: s.By, Why: s.Reason, At: s.At}
		}
	case Requested:
		if p.order == nil || s.At.After(p.ordered[p.order.Commit]) {
			p.order = &decide.Request{ID: orderID(s.At), Commit: s.Commit, By: s.By, Why: s.Reason, At: s.At}
		}
		p.ordered[s.Commit] = later(p.ordered[s.Commit], s.At)
	case Completed:
		p.fulfilled[d.Request] = true
	case Approved:
		p.approvals[s.Commit] = append(p.approvals[s.Commit], decide.Approval{Check: d.Check, By: s.By, Groups: d.Groups, Why: s.Reason, At: s.At})
	case Reviewed:
		p.addReview(s, d)
	case Bypassed:
		p.bypasses[s.Commit] = append(p.bypasses[s.Commit], decide.Bypass{Check: d.Check, By: s.By, Why: s.Reason, At: s.At})
	}
}

// insert inserts a step by its time.
func (p *page) insert(s recordedStep) {
	p.records = insertByTime(p.records, s, func(s recordedStep) time.Time { return s.At })
}

// insertByTime inserts an element after those that are not later.
func insertByTime[T any](all []T, x T, at func(T) time.Time) []T {
	i := len(all)
	for i > 0 && at(all[i-1]).After(at(x)) {
		i--
	}
	return slices.Insert(all, i, x)
}

// editedByHand is the reason of a step for a commit that did not come in by promotion.
const editedByHand = "the commit was changed by hand, without a promotion"

// proposes reports whether a pull request for a commit was opened and not withdrawn.
func (p *page) proposes(commit string) bool {
	for key := range p.proposed {
		if key.commit == commit && !p.withdrawn[key] {
			return true
		}
	}
	return false
}

// entered returns the last promoted commit.
func (p *page) entered() string {
	for i := len(p.records) - 1; i >= 0; i-- {
		if p.records[i].Kind == decide.StepStarted {
			return p.records[i].Commit
		}
	}
	return ""
}

// recordedFailure reports whether the last record of a commit is its failure.
func (p *page) recordedFailure(commit string) bool {
	for _, s := range slices.Backward(p.records) {
		if s.Commit == commit {
			return s.Kind == decide.StepFailed
		}
	}
	return false
}

// deployedOnce reports whether a commit was ever deployed.
func (p *page) deployedOnce() bool {
	return slices.ContainsFunc(p.records, func(s recordedStep) bool { return s.Kind == decide.StepDeployed })
}

// started returns when the last commit was promoted; zero if none was.
func (p *page) started() time.Time {
	for _, s := range slices.Backward(p.records) {
		if s.Kind == decide.StepStarted {
			return s.At
		}
	}
	return time.Time{}
}

// left reports whether the clusters of this batch are in other batches since it was last promoted to.
func (p *page) left() bool { return p.emptied.After(p.started()) }

func same(a, b recordedStep) bool {
	return a.Kind == b.Kind && a.Commit == b.Commit && a.Revision == b.Revision
}

// orderID returns the ID of a request: an environment has at most one request per microsecond.
func orderID(at time.Time) string { return at.UTC().Format("20060102T150405.000000Z") }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
