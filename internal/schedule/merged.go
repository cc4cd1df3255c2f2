package schedule

import (
	"context"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Changes finds out which commits changed files. It is an optional ability of [Repositories].
type Changes interface {
	// LastChange returns the newest commit that changed a file on the branch of a location, or deleted it; zero if
	// there is none.
	LastChange(ctx context.Context, at Location, file string) (FileChange, error)
}

// FileChange is a commit that changed a file.
type FileChange struct {
	Commit string
	// Author is that of the commit, as it says without proof.
	Author string
}

// String returns the commit and its author: "commit 5523a85 by Ann".
func (c FileChange) String() string {
	if c.Commit == "" {
		return "an unknown commit"
	}
	return fmt.Sprintf("commit %s by %s", fleet.ShortCommit(c.Commit), secret.Line(secret.Redact(c.Author)))
}

// maxNotRendered is how many files are named with the commits that changed them.
const maxNotRendered = 20

const addedHint = "delete it on the GitOps branch, or move it out of the folders that Kalypso writes; clusters apply it, but it was not planned or checked. " +
	"A file of another program beside the assignments of the platform can be permitted with spec.unmanaged of the GitOpsRepo"

// NotRendered returns a problem for each file of a GitOps branch that is not what Kalypso rendered: those that were
// added to its folders, and the drift. repositories may have the ability [Changes].
func NotRendered(ctx context.Context, repositories any, at Location, added []string, drift []bundle.Drift) []fleet.Problem {
	var problems []fleet.Problem
	add := func(file, what, hint string) {
		if len(problems) < maxNotRendered {
			problems = append(problems, notRendered(file, fmt.Sprintf("%s %s it", ChangeOf(ctx, repositories, at, file), what), hint))
		}
	}
	for _, file := range added {
		add(file, "added", addedHint)
	}
	for _, d := range drift {
		what := "changed"
		if d.Deleted {
			what = "deleted"
		}
		add(d.Path, what, "merge the pull request that restores it; change it where it is rendered from")
	}
	if n := len(added) + len(drift) - len(problems); n > 0 {
		problems[len(problems)-1].Message += fmt.Sprintf("; %d more files are not as rendered", n)
	}
	return problems
}

// notRendered is the problem of a file.
func notRendered(file, why, hint string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindNotRendered, Position: fleet.Position{Source: "gitops", File: file},
		Message: "the GitOps branch differs from what Kalypso rendered: " + why, Hint: hint,
	}
}

// ChangeOf returns which commit changed a file; zero if that is not known. repositories may have the ability [Changes].
func ChangeOf(ctx context.Context, repositories any, at Location, file string) FileChange {
	changes, ok := repositories.(Changes)
	if !ok {
		return FileChange{}
	}
	c, err := changes.LastChange(ctx, at, file)
	if err != nil {
		return FileChange{} // the file is named anyway
	}
	return c
}

// Unrendered returns what the problems say about files that are not what Kalypso rendered; empty if all are.
func Unrendered(problems []fleet.Problem) string {
	i := slices.IndexFunc(problems, func(p fleet.Problem) bool { return p.Kind == fleet.KindNotRendered })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s", problems[i].Position.File, problems[i].Message)
}

// Audit compares the head of an environment's GitOps branch with what the commits render that it names.
type Audit struct {
	// Commit is the head.
	Commit string
	// Inputs names the commits that it was compared with.
	Inputs string
	// Files are those that differ, sorted.
	Files []string
	// Unmanaged are files that nothing renders, and that the GitOpsRepo leaves to others, sorted.
	Unmanaged []string
	// Held are the assignments that these commits hold, as "drone/nginx-dev", sorted. Nothing renders their files, so they were
	// compared with their inventory only.
	Held []string
	// Unknown explains why it could not be compared; optional.
	Unknown string
	// During identifies the state in which it was compared. In another one, it is tried again if the result is unknown.
	During string
}

// Holds reports whether the audit is about a commit, so that it is not needed again.
func (a *Audit) Holds(commit, during string) bool {
	return a != nil && a.Commit == commit && (a.Unknown == "" || a.During == during)
}

// Rendered reports whether the head has what its commits render.
func (a *Audit) Rendered() bool { return a != nil && a.Unknown == "" && len(a.Files) == 0 }

// Audit renders the commits that the newest commit of Kalypso on the branch names, compares, and returns where the
// branch is. Assignments that are held cannot be rendered: their files are compared with the inventory only.
func (v *Versions) Audit(ctx context.Context, r Request, commit string) (Location, *Audit, error) {
	loaded, err := v.Loader.Load(ctx, r)
	if err != nil {
		return Location{}, nil, err
	}
	at, err := v.Loader.gitOpsLocation(loaded, "")
	if err != nil {
		return Location{}, nil, err
	}
	loader := *v.Loader
	loader.Fixed = Fixed{GitOps: commit}
	head, err := loader.GitOps(ctx, loaded, "")
	if err != nil {
		return at, nil, err
	}
	if head.Published.Count() == 0 {
		return at, nil, fmt.Errorf("branch %q of %s: %w", at.Branch, secret.Redact(at.Repo), ErrNothingMerged)
	}
	at.Commit = head.Commit
	messages, err := v.Messages.Messages(ctx, at)
	if err != nil {
		return at, nil, fmt.Errorf("read the message of commit %s: %w", fleet.ShortCommit(at.Commit), err)
	}
	audit := &Audit{Commit: head.Commit}
	recorded := recordedIn(messages)
	if recorded == nil {
		audit.Unknown = "no commit of Kalypso is on the branch, so that it is not known what it was rendered from"
		return at, audit, nil
	}
	loader.Fixed = Fixed{Commit: recorded, GitOps: head.Commit}
	draft, err := (&Drafter{Loader: &loader, Charts: v.Charts, Trace: v.Trace}).Draft(ctx, DraftRequest{Request: r})
	if err != nil {
		return Location{}, nil, err
	}
	audit.Inputs = draft.Loaded.Inputs.String()
	audit.Unknown = v.foreign(ctx, draft.Loaded.Inputs)
	for _, c := range draft.Bundle.Changes() {
		audit.Files = append(audit.Files, c.Path)
	}
	for _, f := range draft.Bundle.Folders {
		for i := range f.Assignments {
			if a := &f.Assignments[i]; a.Held != nil && len(a.Files) > 0 {
				audit.Held = append(audit.Held, a.Name())
			}
		}
	}
	// What others may add is what the control plane says now, not when the commit was rendered.
	audit.Add(head.Published.Added, head.Published.Drift)
	audit.Unmanaged = head.Published.Unmanaged
	return at, audit, nil
}

// Add adds files that were added to the branch, and its drift.
func (a *Audit) Add(added []string, drift []bundle.Drift) {
	a.Files = append(a.Files, added...)
	for _, d := range drift {
		a.Files = append(a.Files, d.Path)
	}
	slices.Sort(a.Files)
	a.Files = slices.Compact(a.Files)
}

// Audited returns the audit of a commit for [Audit.Holds]. err is why there is none.
func Audited(a *Audit, err error, commit, during string) *Audit {
	if err != nil {
		a = &Audit{Commit: commit, Unknown: err.Error()}
	}
	a.During = during
	return a
}

// foreign explains which input is not on its branch, so that it was never merged there; empty if all are.
func (v *Versions) foreign(ctx context.Context, inputs Inputs) string {
	for _, i := range append([]Input{inputs.Branch, inputs.Main}, inputs.Others...) {
		if i.Commit == "" {
			continue
		}
		if err := v.onBranch(ctx, Location{Repo: i.Repo, Branch: i.Branch, Commit: i.Commit}); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Problems returns the problems of the files that differ, with the commits that changed them.
func (a *Audit) Problems(ctx context.Context, repositories any, at Location) []fleet.Problem {
	var problems []fleet.Problem
	for i, file := range a.Files {
		if i == maxNotRendered {
			problems[i-1].Message += fmt.Sprintf("; %d more files are not as rendered", len(a.Files)-i)
			break
		}
		p := notRendered(file, fmt.Sprintf("%s does not render it, and %s changed it", a.Inputs, ChangeOf(ctx, repositories, at, file)),
			"merge the environment's pull request, which restores it; after an update of Kalypso, the new release may render it in another way")
		p.Severity = fleet.SeverityWarning
		problems = append(problems, p)
	}
	return problems
}

// audit compares the head of the branch with what its commits render, once for each head. If nothing is left to
// change, the head has what the current commits render, so that nothing is rendered again.
func (r *round) audit(ctx context.Context) error {
	head := r.GitOps.Commit
	if head == "" || r.GitOps.Location.Folder != "" {
		return nil
	}
	if Unrendered(r.GitOps.Published.Problems) != "" {
		return nil
	}
	known := r.Drafter.Memory.audit(r.request)
	messages, ok := r.Drafter.Loader.Repositories.(Messages)
	switch {
	case r.outcome.Files == 0:
		known = &Audit{Commit: head}
	case known.Holds(head, r.Loaded.Name()):
	case !ok:
		return nil
	default:
		_, audit, err := (&Versions{Drafter: *r.Drafter, Messages: messages}).Audit(ctx, r.request, head)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		known = Audited(audit, err, head, r.Loaded.Name())
	}
	r.Drafter.Memory.audited(r.request, known)
	if known.Rendered() {
		r.outcome.Rendered = head
		return nil
	}
	r.differs(ctx, known)
	return nil
}

// differs adds the problems of an audit to the plan of the round.
func (r *round) differs(ctx context.Context, a *Audit) {
	if a.Unknown != "" || len(a.Files) == 0 {
		return
	}
	r.Plan.Problems = fleet.SortProblems(append(slices.Clone(r.Plan.Problems), a.Problems(ctx, r.Drafter.Loader.Repositories, r.GitOps.Location)...))
}
