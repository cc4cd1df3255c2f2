package decide

import (
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// place holds one environment during a decision.
type place struct {
	*stage
	env   *Environment
	phase Phase
	// later is set if the commit was already deployed, and a later change of the environment is rolled out now, such as of its
	// configuration or of a workload. Phase and why are then those of the change.
	later bool
	// why describes the state of the commit, or of the later change. It follows the name of the commit in a sentence.
	why string
	// failure is the cause of a failure for its status: it stays the same while more clusters fail in the same way.
	failure string
	// inRing means that it is that of a ring of the environment.
	inRing  bool
	now     time.Time
	authors map[string][]string
	// checks is the progress of the verifications; nil before the manifests are merged. check is the position of the one
	// that the commit waits for, or -1.
	checks []CheckProgress
	check  int
	runs   []run // by position on the line
	// before holds the environments in which a commit must have run first; nil for those that are not in the chain.
	before []*place
	// closed returns the result of [site.closed] at the time of the round. It and delays, the results of [round.delayed] by position, are
	// computed once: a ring can have hundreds of such clusters, and each stage asks for those of all earlier rings.
	closed func() (why string, until time.Time)
	delays []*bool
	// beside holds the stages of the ring of a cluster that says when it may be changed.
	beside []*place
	// floor is the position of the newest commit that was ever promoted, or -1.
	floor int
}

// assess sets the phase of the environment.
func (p *place) assess() {
	e := p.env
	switch {
	case e.Unknown != "":
		p.phase, p.why = Unknown, "nothing is known: "+e.Unknown
	case e.Commit == "":
		p.phase, p.why = Empty, "runs no commit yet"
	case e.aborted(e.Commit) != nil:
		p.phase, p.why = Aborted, e.aborted(e.Commit).String()
	default:
		p.assessRollout()
	}
}

func (p *place) assessRollout() {
	r := p.env.Rollout
	p.later = p.env.deployedBefore()
	switch r.State {
	case RolloutRefused:
		p.phase, p.why = Refused, "needs approval"+because(r.Reason)
	case RolloutClosed:
		p.phase, p.why = Refused, "was rejected: its pull request was closed without being merged"+at(r.URL)
	case RolloutOpen, RolloutOffered:
		p.phase, p.why = Proposed, "waits for its pull request to be merged"+at(r.URL)
	case RolloutMerged:
		p.assessVerdict()
	default:
		p.phase, p.why = Promoted, "waits for its pull request to be opened"
	}
}

// deployedBefore reports whether the commit was deployed since it was promoted, with manifests other than the current ones.
func (e *Environment) deployedBefore() bool {
	before := false
	for _, s := range e.History {
		switch {
		case s.Kind == StepStarted:
			before = false
		case s.Commit != e.Commit:
		case s.Revision == e.Rollout.Commit:
			if s.Kind == StepDeployed {
				return false
			}
		default:
			before = s.Kind == StepDeployed
		}
	}
	return before && e.entered() == e.Commit
}

// assessVerdict sets the phase from the verdict. A deployed commit stays deployed if a cluster goes offline later
// or a new cluster is added. A failure changes the phase.
func (p *place) assessVerdict() {
	p.readChecks()
	v := p.env.Verdict
	current := v.Commit == p.env.Rollout.Commit
	switch {
	case current && v.Result == comply.Failed && v.Counts.Failed > 0:
		p.failVerdict(v)
	case p.env.outcome() == StepDeployed:
		p.phase, p.why = Deployed, "is deployed"+p.bypasses()
	case current && (v.Result == comply.Failed || v.Result == comply.TimedOut):
		p.failVerdict(v)
	case current && v.Result == comply.NoClusters:
		p.phase, p.why = NoClusters, "waits: "+v.Reason
	case current && v.Result == comply.Passed:
		p.assessChecks()
	case current && v.Result == comply.Waiting:
		p.phase, p.why = Deploying, "waits: "+v.Reason
	default:
		p.phase, p.why = Deploying, "waits for the first reports of its clusters"
	}
}

// asksUser reports whether a user has to act before the manifests are published.
func (p *place) asksUser() bool {
	r := p.env.Rollout
	return p.phase == Refused || p.phase == Proposed && (r.State == RolloutOffered || r.Manual)
}

func (p *place) fail(reason, cause string) {
	p.phase, p.why, p.failure = Failed, "failed: "+reason, cause
}

// failVerdict sets the phase from a verdict that failed. That of an environment with rings fails because of one of them.
func (p *place) failVerdict(v comply.Verdict) {
	p.fail(v.Reason, v.Cause())
	p.inRing = p.env.Rings
}

// outcome returns the last recorded result of this rollout, or "".
func (e *Environment) outcome() StepKind {
	for i := len(e.History) - 1; i >= 0; i-- {
		if s := e.History[i]; s.Kind != StepStarted && s.Commit == e.Commit && s.Revision == e.Rollout.Commit {
			return s.Kind
		}
	}
	return ""
}

// entered returns the commit that was promoted last according to the history.
func (e *Environment) entered() string {
	for i := len(e.History) - 1; i >= 0; i-- {
		if e.History[i].Kind == StepStarted {
			return e.History[i].Commit
		}
	}
	return ""
}

// aborted returns the command that aborted a commit, or nil.
func (e *Environment) aborted(commit string) *Abort {
	for i := range e.Aborts {
		if e.Aborts[i].Commit == commit {
			return &e.Aborts[i]
		}
	}
	return nil
}

// skipped reports whether a user let a commit pass.
func (e *Environment) skipped(commit string) bool {
	return slices.ContainsFunc(e.Skips, func(s Skip) bool { return s.Commit == commit })
}

// String returns who aborted the commit and why. It follows the name of the commit in a sentence.
func (a *Abort) String() string { return "was aborted by " + a.By + because(a.Why) }

// unrecorded returns the actions that record missing steps.
func (p *place) unrecorded(now time.Time) []Action {
	e := p.env
	record := func(kind StepKind, revision string) Record {
		return Record{Environment: p.name, Step: Step{Kind: kind, Commit: e.Commit, Revision: revision, At: now}}
	}
	switch {
	case p.phase == Unknown || e.Commit == "":
		return nil
	case len(p.passed()) > 0:
		u := p.passed()[0]
		return []Action{Record{Environment: p.name, Step: Step{Kind: StepDeployed, Commit: u.Commit, Revision: u.Revision, At: now}, Reason: "every ring runs it, while a newer commit is rolled out"}}
	case e.entered() != e.Commit:
		return []Action{record(StepStarted, "")}
	case p.phase == Deployed && e.outcome() != StepDeployed:
		return []Action{record(StepDeployed, e.Rollout.Commit)}
	case p.phase == Failed && e.outcome() != StepFailed:
		failed := record(StepFailed, e.Rollout.Commit)
		failed.Reason, failed.Failure, failed.InRing = p.cause(), p.failure, p.inRing
		return []Action{failed}
	default:
		return nil
	}
}

// passed returns the earlier commits that every ring runs, and that are not recorded as deployed.
func (p *place) passed() []Underway {
	var all []Underway
	for _, u := range p.env.Underway {
		recorded := slices.ContainsFunc(p.env.History, func(s Step) bool {
			return s.Kind == StepDeployed && s.Commit == u.Commit && s.Revision == u.Revision
		})
		if u.Verdict.Result == comply.Passed && u.Commit != p.env.Commit && !recorded {
			all = append(all, u)
		}
	}
	return all
}

// cause returns why the commit failed.
func (p *place) cause() string { return strings.TrimPrefix(p.why, "failed: ") }

func at(url string) string {
	if url == "" {
		return ""
	}
	return " (" + url + ")"
}
