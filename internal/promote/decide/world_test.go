package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// world is a small model of the engine's surroundings: a branch of commits, environments with GitOps branches,
// clusters that follow them, and users. It knows which commits really ran; the engine sees only reports.
type world struct {
	*rapid.T
	now    time.Time
	behind time.Duration // how far the server's clock is behind what it said before
	line   []string
	pushed int // number of commits created
	chain  *decide.Chain
	envs   []*simEnvironment
	// bad holds the commits that fail: in an environment, on its clusters or in its verification.
	bad map[string]string
}

// simEnvironment is an environment of the world.
type simEnvironment struct {
	decide.Environment
	rules     *decide.Rules
	clusters  []*cluster
	revisions []string          // of the GitOps branch, oldest first
	carries   map[string]string // the commit of each revision
	merged    time.Time         // time of the last revision
	ran       map[string]bool   // commits that really ran, on all clusters at once and verified
	// past is what clusters reported, silences when they were not heard of, and measured the measurements of each revision.
	past     []comply.Past
	silences []comply.Silence
	measured []decide.CheckResult
	seen     decide.Environment // the last facts
}

func (e *simEnvironment) String() string { return e.Name }

// GoString keeps the traces of failed worlds short.
func (e *simEnvironment) GoString() string { return e.Name }

type cluster struct {
	name     string
	revision string
	failed   bool
	heard    time.Time
	cut      bool // whether its connection is cut
	wasCut   bool // since it was heard of
}

func newWorld(t *rapid.T) *world {
	w := &world{T: t, now: clock("06:00"), bad: map[string]string{}}
	var stages []decide.Stage
	for i := range rapid.IntRange(1, 5).Draw(t, "environments") {
		name := fmt.Sprintf("e%d", i)
		stages = append(stages, decide.Stage{Name: name, Promotion: w.drawRules(stages)})
		e := &simEnvironment{Environment: decide.Environment{Name: name, Statuses: map[string]decide.Status{}, CheckStatuses: map[decide.CheckCommit]decide.Status{}, Requested: map[string]time.Time{}}, carries: map[string]string{}, ran: map[string]bool{}}
		for c := range rapid.SampledFrom([]int{0, 1, 2, 2, 3}).Draw(t, "clusters") {
			e.clusters = append(e.clusters, &cluster{name: fmt.Sprintf("%s-%d", name, c), heard: w.now})
		}
		w.envs = append(w.envs, e)
	}
	chain, problems := decide.NewChain(stages, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	w.chain = chain
	for _, e := range w.envs {
		e.rules, _ = chain.Rules(e.Name)
	}
	w.push(false)
	return w
}

// drawRules returns random rules for an environment after some of the earlier ones.
func (w *world) drawRules(before []decide.Stage) *v1alpha1.Promotion {
	p := &v1alpha1.Promotion{Gate: &v1alpha1.Gate{AllowNone: rapid.Bool().Draw(w.T, "allow none")}}
	for _, b := range before {
		if rapid.Bool().Draw(w.T, "after") {
			p.After = append(p.After, b.Name)
		}
	}
	odds := rapid.IntRange(0, 15).Draw(w.T, "rules")
	if odds&1 != 0 {
		p.Approval = v1alpha1.ApprovalPullRequest
	}
	if odds&2 != 0 {
		p.OnFailure = v1alpha1.FailureRollback
		p.Gate.Timeout = &metav1.Duration{Duration: 3 * time.Hour}
	}
	if odds&4 != 0 {
		p.Soak = &metav1.Duration{Duration: 90 * time.Minute}
		p.Verify = []v1alpha1.Verification{{
			Name: "smoke", HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"},
			Count: rapid.IntRange(0, 3).Draw(w.T, "count"), FailureLimit: rapid.IntRange(0, 2).Draw(w.T, "failure limit"),
		}}
	}
	if odds&8 != 0 {
		p.Windows = []v1alpha1.Window{{Cron: "0 */4 * * *", Duration: metav1.Duration{Duration: 2 * time.Hour}, TimeZone: "Europe/Berlin"}}
	}
	return p
}

// push adds a commit to the branch. A bad commit fails in one environment.
func (w *world) push(bad bool) {
	w.pushed++
	commit := fmt.Sprintf("%040x", w.pushed)
	w.line = append(w.line, commit)
	if bad {
		w.bad[commit] = rapid.SampledFrom(w.envs).Draw(w.T, "fails in").Name
	}
}

// facts returns what the engine can know about the world.
func (w *world) facts() decide.Facts {
	f := decide.Facts{Chain: w.chain, Line: slices.Clone(w.line)}
	for _, e := range w.envs {
		known := e.Environment
		known.Statuses = map[string]decide.Status{}
		for commit, s := range e.Statuses {
			known.Statuses[commit] = s
		}
		known.CheckStatuses = maps.Clone(e.CheckStatuses)
		known.Checks, known.Carriers = e.of(e.Rollout.Commit), w.carriers(e)
		if e.Rollout.State == decide.RolloutMerged {
			known.Verdict = w.verdict(e)
		}
		e.seen = known
		f.Environments = append(f.Environments, known)
	}
	return f
}

// carriers returns what the branch of an environment had, with what the gate said.
func (w *world) carriers(e *simEnvironment) []decide.Carrier {
	all := slices.Clone(e.Carriers)
	for i := range all {
		c := &all[i]
		c.Checks = e.of(c.Revision)
		q := w.question(e, c.Revision, c.Entered)
		c.Spans = comply.Timeline(comply.TimelineQuestion{Question: q, Until: c.Left, Outcomes: e.past, Silences: e.silences}, w.now)
	}
	return all
}

// of returns the measurements of a revision.
func (e *simEnvironment) of(revision string) []decide.CheckResult {
	return slices.DeleteFunc(slices.Clone(e.measured), func(c decide.CheckResult) bool { return c.Revision != revision })
}

// report records what a cluster says, if it says something else.
func (w *world) report(e *simEnvironment, c *cluster) {
	if c.cut || c.revision == "" || w.behind > 0 {
		return
	}
	state := hub.StateReady
	if c.failed {
		state = hub.StateFailed
	}
	for i := range e.past {
		o := &e.past[i]
		if o.Cluster != c.name || !o.Until.IsZero() {
			continue
		}
		if o.State == state && o.Revision.Hash == c.revision {
			return
		}
		o.Until = w.now
	}
	e.past = append(e.past, comply.Past{Observation: comply.Observation{
		Cluster: c.name, Reconciler: "platform", Source: hub.Source{Repository: "https://git.example/gitops", Ref: e.Name, Path: "large"}, State: state,
		Revision: revisions.Parse(e.Name + "@sha1:" + c.revision), Observed: w.now, Since: w.now,
	}})
}

// verdict returns the real verdict for the reports of an environment's clusters.
func (w *world) verdict(e *simEnvironment) comply.Verdict {
	q := w.question(e, e.Rollout.Commit, e.merged)
	for _, o := range e.past {
		if o.Until.IsZero() {
			q.Observations = append(q.Observations, o.Observation)
		}
	}
	return comply.Judge(q, w.now)
}

// question is about a revision, without observations.
func (w *world) question(e *simEnvironment, revision string, published time.Time) comply.Question {
	q := comply.Question{Commit: revision, Gate: e.rules.Gate, Published: published, History: e.reaches(revision)}
	var clusters []comply.Cluster
	for _, c := range e.clusters {
		clusters = append(clusters, comply.Cluster{Name: c.name, Heard: c.heard, Memberships: []comply.Membership{{Environment: e.Name, ClusterType: "large"}}})
	}
	q.Expected = comply.ExpectPlatform(clusters, e.Name, hub.Source{Repository: "https://git.example/gitops", Ref: e.Name}, comply.Folders{})
	return q
}

// reaches returns the history of a GitOps branch, which is linear.
func (e *simEnvironment) reaches(commit string) comply.History {
	return func(hash string) (bool, bool) {
		at := slices.Index(e.revisions, hash)
		return at >= slices.Index(e.revisions, commit), at >= 0
	}
}

// complies reports whether all clusters really run the last revision of the branch. Without clusters, the gate decides.
func (e *simEnvironment) complies() bool {
	for _, c := range e.clusters {
		if c.revision != e.revision() || c.failed {
			return false
		}
	}
	return e.revision() != "" && (len(e.clusters) > 0 || e.rules.Gate.AllowNone)
}

// revision returns the last revision of the GitOps branch. The environment may have another commit, which was not merged yet.
func (e *simEnvironment) revision() string {
	if len(e.revisions) == 0 {
		return ""
	}
	return e.revisions[len(e.revisions)-1]
}

// apply carries out actions as a flow does.
func (w *world) apply(actions []decide.Action) {
	for _, action := range actions {
		switch a := action.(type) {
		case decide.SetStatus:
			if e := w.simEnvironment(a.Environment); a.Check != "" {
				e.CheckStatuses[decide.CheckCommit{Check: a.Check, Commit: a.Commit}] = a.Status
			} else {
				e.Statuses[a.Commit] = a.Status
			}
		case decide.BeginCheck:
			e := w.simEnvironment(a.Environment)
			e.measured = append(e.measured, decide.CheckResult{Name: a.Check, Revision: a.Revision, State: decide.CheckBegun, At: w.now})
		case decide.RunCheck:
			w.verify(w.simEnvironment(a.Environment), a)
		case decide.Promote:
			e := w.simEnvironment(a.Environment)
			w.checkPromote(e, a)
			switch {
			case e.Commit != a.From:
			case a.By == v1alpha1.ApprovalPullRequest:
				e.propose(a.From, a.Commit)
			default:
				e.name(w, a.Commit)
			}
		case decide.ProposeRollback:
			e := w.simEnvironment(a.Environment)
			w.checkBack(e, a)
			switch {
			case e.Commit != a.From:
			case a.By == v1alpha1.ApprovalPullRequest:
				e.propose(a.From, a.To)
			default:
				e.Commit, e.Rollout, e.Head = a.To, decide.Rollout{}, fmt.Sprintf("head of %s with %s", e.Name, a.To)
			}
		case decide.Withdraw:
			w.simEnvironment(a.Environment).withdraw()
		}
	}
}

func (w *world) simEnvironment(name string) *simEnvironment {
	return w.envs[slices.IndexFunc(w.envs, func(e *simEnvironment) bool { return e.Name == name })]
}

// name sets the commit of the environment.
func (e *simEnvironment) name(w *world, commit string) {
	w.checkEnters(e, commit)
	e.Commit, e.Rollout = commit, decide.Rollout{}
	e.Head = fmt.Sprintf("head of %s with %s", e.Name, commit)
}

func (e *simEnvironment) propose(from, commit string) {
	e.withdraw()
	e.Proposals = append(e.Proposals, decide.Proposal{From: from, Commit: commit, State: decide.ProposalOpen})
}

func (e *simEnvironment) withdraw() {
	e.Proposals = slices.DeleteFunc(slices.Clone(e.Proposals), func(p decide.Proposal) bool { return p.State == decide.ProposalOpen })
}

func (w *world) verify(e *simEnvironment, a decide.RunCheck) {
	if a.Revision != e.Rollout.Commit {
		return
	}
	result := decide.CheckResult{Name: a.Check.Name, Revision: a.Revision, State: decide.CheckPassed, At: w.now}
	if w.bad[a.Commit] == e.Name || e.failures(a.Revision) < a.Check.FailureLimit && rapid.Bool().Draw(w.T, "measurement fails") {
		result.State = decide.CheckFailed
	}
	e.measured = append(e.measured, result)
}

// failures returns how many measurements of a revision failed.
func (e *simEnvironment) failures(revision string) (n int) {
	for _, c := range e.measured {
		if c.Revision == revision && c.State == decide.CheckFailed {
			n++
		}
	}
	return n
}

// verified reports whether enough measurements of the last revision really passed.
func (e *simEnvironment) verified() bool {
	passed := 0
	for _, c := range e.measured {
		if c.Revision == e.revision() && c.State == decide.CheckPassed {
			passed++
		}
	}
	return len(e.rules.Verify) == 0 || passed >= max(e.rules.Verify[0].Count, 1)
}

// look records which commits really run.
func (w *world) look() {
	for _, e := range w.envs {
		if e.complies() && e.verified() {
			e.ran[e.carries[e.revision()]] = true
		}
	}
}
