package scheduling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/bundle"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/plan"
)

// Proposer keeps the one living change request of each environment what it should be.
//
// It is level-triggered: every round reads where things stand and does what is missing, so it may be killed after any step
// and run again, and two of them at once end in the same state. The steps of a round, in order:
//
//	read ─► plan ─► commit ─► push to kalypso/<environment> ─► status ─► open or edit ─► labels ─► merge
//
// A status precedes the text that speaks of it, and the text carries a marker of what was done,
// so that a round in which nothing changed needs two questions to the forge: for the change, and for the issues.
type Proposer struct {
	// Loader reads the control plane and the GitOps branch. // required
	Loader *Loader
	// Committer writes to the GitOps repository. // required
	Committer Committer
	// Forges host the GitOps repositories. // required
	Forges Forges

	// Memory holds the results of earlier rounds, so that only what changed is rendered again; nil for none.
	Memory *Memory

	// Trace is told when a part of a round begins, and returns how to say that it ended, and with what error; nil for nobody.
	Trace func(ctx context.Context, part string) (context.Context, func(error))

	// Step is told the name of each step after it is done; for tests that end a round there. May be nil.
	Step func(name string) error
}

// Forges know which forge hosts a repository.
type Forges interface {
	// Forge returns the forge of a URL; a forge.ErrInvalid when none that is configured hosts it.
	Forge(url string) (forge.Forge, error)
}

// Committer writes commits to repositories.
type Committer interface {
	// Commit writes a commit, which no branch leads to yet, and returns its id.
	// The same request makes the same id.
	Commit(ctx context.Context, c Commit) (string, error)
	// Head returns the commit of a branch; empty when there is no such branch.
	Head(ctx context.Context, repo, branch string) (string, error)
	// Push moves a branch to a commit if it is at old, which is empty for a branch that does not exist yet.
	// Otherwise the error is [ErrMoved].
	Push(ctx context.Context, repo, branch, old, commit string) error
}

// Commit is a commit to be made.
type Commit struct {
	Repo string
	// Branch has the parent in its history.
	Branch string
	// Parent is the commit to build on; empty makes a first commit.
	Parent  string
	Put     map[string][]byte
	Delete  []string
	Message string
	When    time.Time
}

// ErrMoved says that a branch is not where it was when it was read; the next round reads it again.
var ErrMoved = errors.New("the branch moved")

// Labels that mean something to Kalypso.
const (
	// LabelPromoted marks a change that carries a new promoted commit.
	LabelPromoted = "promoted"
	// LabelAllowDeletions is how a person agrees to more removals than the deletion budget.
	LabelAllowDeletions = "kalypso/allow-deletions"
	// StatusDeletions is the context of the status that waits for it.
	StatusDeletions = "kalypso/deletions"
)

// HeadBranch returns the branch that changes of an environment are proposed from.
func HeadBranch(environment string) string { return "kalypso/" + environment }

// Outcome says what a round found and did.
type Outcome struct {
	// Inputs are the commits that the environment was read at; zero when it could not be.
	Inputs Inputs
	// GitOps is the branch that the files go to, and Head its commit that they were compared with.
	GitOps Location
	Head   string
	// Loaded is what was read, and Bundle what was made of it; nil when the round did not come so far. They are shared: do not
	// change them.
	Loaded *Loaded
	Bundle *bundle.Bundle
	// Plan says what is to change; nil when the round did not come so far.
	Plan *plan.Plan
	// Files is how many files are to change: with a plan and none, the branch has all that the inputs ask for.
	Files int
	// Change is the living change request as it is after the round; nil when there is none.
	Change *forge.Change
	// Refused is the change that a person closed, and that is not opened again until it would propose something else; nil when there is none.
	Refused *forge.Change
	// Did lists what was done, in order; empty for a round in which nothing had to be.
	Did []string
	// Read are the places that were read, with the branch the change comes from: when one of them moves, a round may have to do.
	Read []Location
	// Waits says why the change is not merged automatically though it may be; empty otherwise.
	Waits string
}

// Round makes the change request of an environment what it should be.
func (p *Proposer) Round(ctx context.Context, request Request) (*Outcome, error) {
	r := &round{Proposer: p, outcome: &Outcome{}}
	for _, step := range []struct {
		part string
		do   func(context.Context, Request) error
	}{
		{"read", r.read}, {"build", r.build}, {"plan", r.plan}, {"find the change", r.find}, {"propose", r.propose}, {"report", r.report},
	} {
		if err := r.traced(ctx, step.part, func(ctx context.Context) error { return step.do(ctx, request) }); err != nil {
			return r.outcome, err
		}
	}
	return r.outcome, nil
}

// traced does a part of a round.
func (r *round) traced(ctx context.Context, part string, do func(context.Context) error) error {
	if r.Trace == nil {
		return do(ctx)
	}
	ctx, end := r.Trace(ctx, part)
	err := do(ctx)
	end(err)
	return err
}

// round is one round in progress.
type round struct {
	*Proposer
	outcome *Outcome

	loaded *Loaded
	gitops *GitOps
	bundle *bundle.Bundle
	host   forge.Forge
	repo   forge.Repository

	// open is the living change request, ended the newest one that was closed without merging; nil when there is none.
	open, ended *forge.Change
}

// done notes a step.
func (r *round) done(step, what string) error {
	r.outcome.Did = append(r.outcome.Did, what)
	if r.Step != nil {
		return r.Step(step)
	}
	return nil
}

// read loads the control plane and what is published.
func (r *round) read(ctx context.Context, request Request) error {
	var err error
	if r.loaded, err = r.Loader.Load(ctx, request); err != nil {
		return err
	}
	if r.gitops, err = r.Loader.GitOps(ctx, r.loaded, ""); err != nil {
		return err
	}
	at := r.gitops.Location
	r.outcome.Loaded, r.outcome.Inputs, r.outcome.GitOps = r.loaded, r.loaded.Inputs, at
	r.outcome.Read = append(r.loaded.Read, at, Location{Repo: at.Repo, Branch: HeadBranch(request.Environment)})
	if err := r.locate(r.gitops.Location.Repo); err != nil {
		return fmt.Errorf("find the GitOps repository: %w", err)
	}
	err = r.startBranch(ctx)
	r.outcome.Head = r.gitops.Commit
	return err
}

// build schedules and renders.
func (r *round) build(_ context.Context, request Request) error {
	r.bundle = bundle.Build(r.loaded.Snapshot, r.gitops.Published, r.Memory.get(request))
	r.Memory.put(request, r.bundle)
	r.outcome.Bundle = r.bundle
	return nil
}

// plan compares what is wanted with what is published.
func (r *round) plan(context.Context, Request) (err error) {
	r.outcome.Files = len(r.bundle.Changes())
	r.outcome.Plan, err = r.gitops.Plan(r.loaded, r.bundle)
	return err
}

// locate finds the forge that hosts the GitOps repository.
func (r *round) locate(url string) (err error) {
	if r.host, err = r.Forges.Forge(url); err != nil {
		return err
	}
	r.repo, err = r.host.Repository(url)
	return err
}

// startBranch makes the GitOps branch when there is none: a change needs a base.
func (r *round) startBranch(ctx context.Context) error {
	if r.gitops.Exists {
		return nil
	}
	at := r.gitops.Location
	id, err := r.Committer.Commit(ctx, Commit{
		Repo: at.Repo, Branch: at.Branch,
		Put:     map[string][]byte{"README.md": []byte(branchReadme(r.loaded.Snapshot.Environment))},
		Message: fmt.Sprintf("Start the branch of environment %s", r.loaded.Snapshot.Environment),
		When:    r.loaded.Inputs.Time(),
	})
	if err != nil {
		return fmt.Errorf("start branch %q: %w", at.Branch, err)
	}
	if err := r.Committer.Push(ctx, at.Repo, at.Branch, "", id); err != nil {
		return fmt.Errorf("start branch %q: %w", at.Branch, err)
	}
	r.gitops.Exists, r.gitops.Commit = true, id
	return r.done("branch started", "started branch "+at.Branch)
}

func branchReadme(environment string) string {
	return "# " + environment + "\n\nWhat runs in this environment: a folder per cluster type, and in it one per deployment target.\n" +
		"The files are proposed by Kalypso, and merged here. Clusters follow this branch.\n"
}

// find asks the forge for the changes of the environment.
func (r *round) find(ctx context.Context, request Request) error {
	changes, err := r.repo.FindChanges(ctx, forge.ChangeFilter{
		Head: HeadBranch(request.Environment), Base: r.gitops.Location.Branch, Limit: 10,
	})
	if err != nil {
		return fmt.Errorf("find the change request: %w", err)
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.State == forge.Open && r.open == nil:
			r.open = c
		case c.State == forge.Closed && r.ended == nil:
			r.ended = c
		case c.State == forge.Merged && r.ended == nil:
			r.ended = &forge.Change{} // what was closed before a merge has no say any more
		}
	}
	r.outcome.Change = r.open
	return nil
}

// propose brings branch, change, labels and statuses to where they should be.
func (r *round) propose(ctx context.Context, request Request) error {
	changes := r.bundle.Changes()
	if len(changes) == 0 {
		return r.withdraw(ctx, request)
	}
	want := r.wanted(request.Environment)
	if r.open == nil && r.refused(ctx, want) {
		r.outcome.Refused = r.ended
		r.outcome.Waits = fmt.Sprintf("change %d was closed by hand; it is opened again when what it proposes changes", r.ended.Number)
		return nil
	}
	if err := r.commit(ctx, request, changes, &want); err != nil {
		return err
	}
	if r.open != nil && markOf(r.open.Body).Merging == want.mark.Commit {
		want.mark.Merging = want.mark.Commit
	}
	if err := r.judge(ctx, want); err != nil {
		return err
	}
	if err := r.describe(ctx, request, want); err != nil {
		return err
	}
	if err := r.label(ctx); err != nil {
		return err
	}
	return r.merge(ctx, want)
}

// refused reports whether a person closed the newest change, which proposed the same. Forges also close changes whose base
// is deleted or replaced: then the commit that it was made on is no longer in the base's history, and nobody has refused anything.
func (r *round) refused(ctx context.Context, want wanted) bool {
	if r.ended == nil {
		return false
	}
	was := markOf(r.ended.Body) // without a digest when it was withdrawn
	if was.Digest != want.mark.Digest || was.Base == want.mark.Base {
		return was.Digest == want.mark.Digest
	}
	fork, err := r.Loader.Repositories.Fork(ctx, r.gitops.Location, "", was.Base)
	return err == nil && fork == was.Base || ctx.Err() != nil
}

// commit makes the head branch have the wanted files. What is open may have them on the same base already.
func (r *round) commit(ctx context.Context, request Request, changes []bundle.Change, want *wanted) error {
	branch := HeadBranch(request.Environment)
	head, err := r.Committer.Head(ctx, r.gitops.Location.Repo, branch)
	if err != nil {
		return fmt.Errorf("read branch %q: %w", branch, err)
	}
	if r.open != nil {
		if is := markOf(r.open.Body); is.Digest == want.mark.Digest && is.Base == want.mark.Base && is.Commit == head {
			want.mark.Commit = is.Commit
			return nil
		}
	}
	put, remove := Edits(changes)
	at := r.gitops.Location
	when := r.loaded.Inputs.Time()
	if when.Before(r.gitops.Time) {
		when = r.gitops.Time
	}
	id, err := r.Committer.Commit(ctx, Commit{
		Repo: at.Repo, Branch: at.Branch, Parent: r.gitops.Commit,
		Put: put, Delete: remove, Message: CommitMessage(r.loaded, r.outcome.Plan), When: when,
	})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	want.mark.Commit = id
	if err := r.done("committed", "committed "+short(id)); err != nil {
		return err
	}
	if head == id {
		return nil
	}
	push := func(ctx context.Context) error { return r.Committer.Push(ctx, at.Repo, branch, head, id) }
	if err := r.traced(ctx, "push", push); err != nil {
		return fmt.Errorf("push branch %q: %w", branch, err)
	}
	return r.done("pushed", "pushed "+branch)
}

// judge says on the commit whether its removals are agreed to. It precedes the text that says so.
func (r *round) judge(ctx context.Context, want wanted) error {
	if r.open != nil && markOf(r.open.Body).Deletions == want.mark.Deletions && markOf(r.open.Body).Commit == want.mark.Commit {
		return nil
	}
	if want.status.State == forge.Failure {
		// The status tells people to set this label, which they can only do when there is one.
		label := forge.Label{Name: LabelAllowDeletions, Color: "b60205", Description: "agrees to more removals than the deletion budget"}
		if err := r.repo.EnsureLabel(ctx, label); err != nil {
			return fmt.Errorf("create label %q: %w", LabelAllowDeletions, err)
		}
	}
	if err := r.repo.SetStatus(ctx, want.mark.Commit, want.status); err != nil {
		return fmt.Errorf("set status %q: %w", want.status.Context, err)
	}
	return r.done("status set", fmt.Sprintf("set %s to %s", want.status.Context, want.status.State))
}

// describe opens the change, or makes its title and body say what it does.
func (r *round) describe(ctx context.Context, request Request, want wanted) error {
	if r.open == nil {
		opened, err := r.repo.OpenChange(ctx, forge.NewChange{
			Head: HeadBranch(request.Environment), Base: r.gitops.Location.Branch, Title: want.title, Body: want.body(),
		})
		if err != nil {
			return fmt.Errorf("open the change request: %w", err)
		}
		r.open, r.outcome.Change = &opened, &opened
		return r.done("opened", fmt.Sprintf("opened change %d", opened.Number))
	}
	edit, body := forge.ChangeEdit{}, want.body()
	if r.open.Title != want.title {
		edit.Title = &want.title
	}
	if !sameBody(r.open.Body, body) {
		edit.Body = &body
	}
	if edit.Empty() {
		return nil
	}
	if err := r.repo.EditChange(ctx, r.open.Number, edit); err != nil {
		return fmt.Errorf("edit change %d: %w", r.open.Number, err)
	}
	r.open.Title, r.open.Body = want.title, body
	return r.done("edited", fmt.Sprintf("edited change %d", r.open.Number))
}

// label marks a change that promotes.
func (r *round) label(ctx context.Context) error {
	promotes := r.outcome.Plan.Promotion != nil
	if promotes == r.open.HasLabel(LabelPromoted) {
		return nil
	}
	if !promotes {
		if err := r.repo.RemoveLabel(ctx, r.open.Number, LabelPromoted); err != nil {
			return fmt.Errorf("remove label %q: %w", LabelPromoted, err)
		}
		return r.done("labelled", "removed label "+LabelPromoted)
	}
	label := forge.Label{Name: LabelPromoted, Color: "1d76db", Description: "carries a new promoted commit of main"}
	if err := r.repo.EnsureLabel(ctx, label); err != nil {
		return fmt.Errorf("create label %q: %w", LabelPromoted, err)
	}
	if err := r.repo.AddLabels(ctx, r.open.Number, LabelPromoted); err != nil {
		return fmt.Errorf("add label %q: %w", LabelPromoted, err)
	}
	return r.done("labelled", "added label "+LabelPromoted)
}

func short(commit string) string { return commit[:min(7, len(commit))] }
