package record

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Branch records the commits of a branch that are not recorded yet, from old to new.
// If nothing changed, it only reads the head of the branch; the first time it also reads the head's content.
//
// After an error, commits that were recorded stay, and the next call continues from there.
func (r *Recorder) Branch(ctx context.Context, b Branch) (*Outcome, error) {
	url := b.Repository
	b.Repository, b.Path = ledger.CleanRepository(url), ledger.CleanPath(b.Path)
	memory := r.remembered(b.Repository, b.Branch)
	if err := memory.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer memory.turn.Release(1)
	o, err := r.record(ctx, url, b, memory)
	if err != nil {
		return nil, fmt.Errorf("record branch %q of %q: %w", secret.Line(b.Branch), secret.Redact(b.Repository), err)
	}
	return o, nil
}

func (r *Recorder) record(ctx context.Context, url string, b Branch, m *branchMemory) (*Outcome, error) {
	head, err := r.Repositories.Head(ctx, url, b.Branch)
	if errors.Is(err, ErrNoBranch) {
		return r.gone(ctx, b, m)
	}
	if err != nil {
		return nil, err
	}
	b.Branch = head.Branch
	stays := m.last != nil && m.last.Head == head.SHA
	if !stays {
		if err := r.recall(ctx, b, m); err != nil {
			return nil, err
		}
	}
	if m.head.kind == ledger.BranchPlatform && b.Kind == ledger.BranchApplication {
		return &Outcome{Branch: b, Head: head.SHA, Problems: []fleet.Problem{notAnApplications(b)}}, nil
	}
	if news := m.ask(b); !news && stays {
		return &Outcome{Branch: b, Head: head.SHA, Problems: m.problems}, nil
	}
	run := &recording{Recorder: r, url: url, branch: b, memory: m, head: head, outcome: &Outcome{Branch: b, Head: head.SHA}}
	if err := run.steps(ctx); err != nil {
		return nil, err
	}
	m.last = run.outcome
	return run.outcome, nil
}

// gone returns the outcome for a branch that does not exist.
func (r *Recorder) gone(ctx context.Context, b Branch, m *branchMemory) (*Outcome, error) {
	if m.last != nil {
		b.Branch = m.last.Branch.Branch
	}
	o := &Outcome{Branch: b}
	if err := r.recall(ctx, b, m); err != nil {
		return nil, err
	}
	if m.head.sha != "" {
		o.Gone = true
		o.Problems = []fleet.Problem{b.problem(fleet.KindUnreachable, "the branch no longer exists; its head was "+fleet.ShortCommit(m.head.sha),
			"push it again, or remove references to it; its recorded commits are kept")}
	}
	m.last = o
	return o, nil
}

// notAnApplications is the problem of application manifests on a branch that Kalypso writes.
func notAnApplications(b Branch) fleet.Problem {
	return b.problem(fleet.KindWrongBranch, "a deployment target has its manifests on the platform branch of an environment; no versions are recorded",
		"keep the manifests on a branch of the application")
}

// problem returns a problem of the branch.
func (b Branch) problem(kind fleet.ProblemKind, message, hint string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: kind, Position: fleet.Position{Source: b.Repository + " " + secret.Line(b.Branch)},
		Message: message, Hint: hint,
	}
}

// recall reads the head from the ledger. Another server may have recorded commits.
func (r *Recorder) recall(ctx context.Context, b Branch, m *branchMemory) error {
	if b.Branch == "" {
		return nil
	}
	heads, err := r.Ledger.Commits(ctx, ledger.CommitQuery{Repository: b.Repository, Branch: b.Branch, Heads: true, Limit: 1})
	if err != nil {
		return err
	}
	m.head = recordedHead{}
	for _, c := range heads {
		m.head = recordedHead{c.SHA, c.Environment, c.Kind}
	}
	return nil
}

// recording is one run of [Recorder.Branch].
type recording struct {
	*Recorder
	url     string // how to reach the repository
	branch  Branch
	memory  *branchMemory
	head    Commit
	outcome *Outcome
}

// steps records the missing commits with their content.
func (r *recording) steps(ctx context.Context) error {
	commits, err := r.missing(ctx)
	if err != nil {
		return err
	}
	if len(commits) == 0 {
		return r.settle(ctx)
	}
	for _, c := range slices.Backward(commits) {
		w, err := r.wanted(ctx, c)
		if err != nil {
			return err
		}
		if err := r.put(ctx, c, w); err != nil {
			return err
		}
		r.outcome.Recorded = append(r.outcome.Recorded, c.SHA)
	}
	return nil
}

// settle makes a recorded commit the head, with the current environment of the branch.
func (r *recording) settle(ctx context.Context) error {
	w, err := r.wanted(ctx, r.head)
	if err != nil {
		return err
	}
	if r.memory.head == (recordedHead{r.head.SHA, w.environment, r.branch.Kind}) {
		r.note(w)
		return nil
	}
	return r.put(ctx, r.head, w)
}

func (r *recording) put(ctx context.Context, c Commit, w wanted) error {
	err := r.Ledger.RecordCommit(ctx, ledger.Commit{
		Repository: r.branch.Repository, Branch: r.branch.Branch, SHA: c.SHA, Kind: r.branch.Kind, Environment: w.environment,
		SourceCommit: w.source, Committed: c.Time, Recorded: r.Now(), Assignments: w.assignments, Versions: w.versions,
	})
	if err != nil {
		return err
	}
	r.memory.head = recordedHead{c.SHA, w.environment, r.branch.Kind}
	r.note(w)
	return nil
}

func (r *recording) note(w wanted) {
	r.memory.problems = w.problems
	r.outcome.Problems = append(r.outcome.Problems, w.problems...)
}

// missing returns the commits that are not recorded, the newest first, and detects a force push.
func (r *recording) missing(ctx context.Context) ([]Commit, error) {
	known := r.memory.head.sha
	if known == "" {
		commits, more, err := r.Repositories.History(ctx, r.url, r.head, nil, r.first())
		r.outcome.LeftOut = more
		return commits, err
	}
	var met string // the newest recorded commit
	var failed error
	commits, _, err := r.Repositories.History(ctx, r.url, r.head, func(sha string) bool {
		recorded, err := r.isRecorded(ctx, sha)
		if recorded {
			met = sha
		}
		failed = err
		return recorded || err != nil
	}, maxCatchUp)
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	if met == "" && len(commits) > r.first() {
		commits, r.outcome.LeftOut = commits[:r.first()], true
	}
	if met == known {
		return commits, nil
	}
	return commits, r.noteRewrite(ctx, known, len(commits))
}

func (r *recording) isRecorded(ctx context.Context, sha string) (bool, error) {
	if sha == r.memory.head.sha {
		return true, nil
	}
	_, err := r.Ledger.Commit(ctx, r.branch.Repository, r.branch.Branch, sha)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// noteRewrite adds a force push to the outcome if the head does not descend from the known one.
func (r *recording) noteRewrite(ctx context.Context, known string, commits int) error {
	on, err := r.Repositories.Contains(ctx, r.url, known, r.head)
	if on || err != nil {
		return err
	}
	happened := fmt.Sprintf("%d commits are new", commits)
	if commits == 0 {
		happened = "it went back to an earlier commit"
	}
	r.outcome.Rewritten = &Rewrite{
		From: known, To: r.head.SHA,
		Reason: fmt.Sprintf("branch %q was force-pushed from %s to %s: %s; recorded commits are kept",
			secret.Line(r.branch.Branch), fleet.ShortCommit(known), fleet.ShortCommit(r.head.SHA), happened),
	}
	return nil
}
