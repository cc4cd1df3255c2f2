package pullrequest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// Living is the one change from a branch to another. Begin with [Living.Find].
type Living struct {
	// Repository is where it is; Limits are those of its forge. // required
	Repository forge.Repository
	Limits     forge.Limits
	// Committer writes to the repository. // required
	Committer Committer
	// URL is that of the repository, as the committer knows it. // required
	URL string
	// Base is the branch that it is merged into, at the commit and time that were read. // required
	Base   string
	Commit string
	Time   time.Time
	// Head is the branch that it comes from. // required
	Head string
	// Name is its name in its mark.
	Name string
	// Fork returns the commit at which the history of a commit left that of the base. ref is where it can be fetched from. // required
	Fork func(ctx context.Context, ref, commit string) (string, error)
	// Done is told each step after it is done, by its name and in words; its error ends the work. May be nil.
	Done func(step, what string) error
	// Trace is told when a part of the work begins, and returns how to say that it ended, and with what error; nil for nobody.
	Trace func(ctx context.Context, part string) (context.Context, func(error))

	// Open is the change; nil when there is none.
	Open *forge.PullRequest
	// Refused is the change that a person closed, and that is not opened again until it would propose something else.
	Refused *forge.PullRequest
	// Waits says why the change is not opened, or not merged though it may be.
	Waits string

	// ended is the newest change that was closed without merging.
	ended *forge.PullRequest
}

// Proposal is what a change should be.
type Proposal struct {
	// Put are files to write, Delete files to remove.
	Put    map[string][]byte
	Delete []string
	// Message is that of the commit, When its time, unless the base is later.
	Message string
	When    time.Time
	Title   string
	// Body writes the text in at most a number of characters; 0 is any. A line that begins with [SourcePrefix] may change
	// without being worth an edit.
	Body func(room int) string
	// Digest identifies what is proposed. // required
	Digest string
	// Inputs are the commits of the sources by name, for the mark.
	Inputs map[string]string
	// Statuses are said on the commit.
	Statuses []forge.Status
	// Findings are what checks found; those in the files of Put are shown at their places, where the forge can do that.
	Findings []check.Finding
	// Labels are ensured to exist. Those that are worn are on the change, the others are not.
	Labels []Label
	// AutoMerge merges it when every status of its commit has succeeded. Where the forge can merge later by itself it is asked to,
	// if the base demands each of Demands.
	AutoMerge bool
	Demands   []string
}

// Label is a label of a change.
type Label struct {
	forge.Label
	// Worn is whether the change has it. Of one that people set, Theirs, it is only made sure that it exists.
	Worn   bool
	Theirs bool
}

// Find asks the forge for the change.
func (l *Living) Find(ctx context.Context) error {
	changes, err := l.Repository.FindPullRequests(ctx, forge.PullRequestFilter{Head: l.Head, Base: l.Base, Limit: 10})
	if err != nil {
		return fmt.Errorf("find the change: %w", err)
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.State == forge.Open && l.Open == nil:
			l.Open = c
		case c.State == forge.Closed && l.ended == nil:
			l.ended = c
		case c.State == forge.Merged && l.ended == nil:
			l.ended = &forge.PullRequest{} // what was closed before a merge has no say any more
		}
	}
	return nil
}

// Closed is the newest change, if it was closed without being merged; nil when it was not, or something is open.
// Whether that refuses what is to be proposed, [Living.Propose] finds out.
func (l *Living) Closed() *forge.PullRequest {
	if l.Open != nil || l.ended == nil || l.ended.State != forge.Closed {
		return nil
	}
	return l.ended
}

// done notes a step.
func (l *Living) done(step, what string) error {
	if l.Done == nil {
		return nil
	}
	return l.Done(step, what)
}

// mark is the mark of a proposal, before it has a commit.
func (l *Living) mark(p *Proposal) Mark {
	m := Mark{Name: l.Name, Digest: p.Digest, Base: l.Commit, Inputs: p.Inputs, Statuses: map[string]forge.StatusState{}}
	for _, s := range p.Statuses {
		m.Statuses[s.Context] = s.State
	}
	return m
}

// Propose brings branch, change, labels and statuses to where they should be.
func (l *Living) Propose(ctx context.Context, p Proposal) error {
	mark := l.mark(&p)
	p.Title = forge.OneLine(p.Title, l.Limits.Title)
	if l.Open == nil && l.refused(ctx, mark) {
		l.Refused = l.ended
		l.Waits = fmt.Sprintf("change %d was closed by hand; it is opened again when what it proposes changes", l.ended.Number)
		return nil
	}
	if err := l.commit(ctx, &p, &mark); err != nil {
		return err
	}
	if l.Open != nil {
		was := MarkOf(l.Open.Body)
		if mark.Annotated = was.Annotated; was.Merging == mark.Commit {
			mark.Merging = mark.Commit
		}
	}
	for _, do := range []func(context.Context, *Proposal, *Mark) error{l.judge, l.describe, l.label, l.merge, l.annotate} {
		if err := do(ctx, &p, &mark); err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether a person closed the newest change, which proposed the same. Forges also close changes whose base
// is deleted or replaced: then the commit that it was made on is no longer in the base's history, and nobody has refused anything.
func (l *Living) refused(ctx context.Context, want Mark) bool {
	if l.ended == nil {
		return false
	}
	was := MarkOf(l.ended.Body) // without a digest when it was withdrawn
	if was.Digest != want.Digest || was.Base == want.Base {
		return was.Digest == want.Digest
	}
	fork, err := l.Fork(ctx, "", was.Base)
	return err == nil && fork == was.Base || ctx.Err() != nil
}

// commit makes the head branch have the files. What is open may have them on the same base already.
func (l *Living) commit(ctx context.Context, p *Proposal, mark *Mark) error {
	head, err := l.Committer.Head(ctx, l.URL, l.Head)
	if err != nil {
		return fmt.Errorf("read branch %q: %w", l.Head, err)
	}
	if l.Open != nil {
		if is := MarkOf(l.Open.Body); is.Digest == mark.Digest && is.Base == mark.Base && is.Commit == head {
			mark.Commit = is.Commit
			return nil
		}
	}
	when := p.When
	if when.Before(l.Time) {
		when = l.Time
	}
	mark.Commit, err = l.Committer.Commit(ctx, Commit{
		Repo: l.URL, Branch: l.Base, Parent: l.Commit, Put: p.Put, Delete: p.Delete, Message: p.Message, When: when,
	})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := l.done("committed", "committed "+short(mark.Commit)); err != nil {
		return err
	}
	if head == mark.Commit {
		return nil
	}
	if err := l.push(ctx, head, mark.Commit); err != nil {
		return fmt.Errorf("push branch %q: %w", l.Head, err)
	}
	return l.done("pushed", "pushed "+l.Head)
}

// push moves the head branch.
func (l *Living) push(ctx context.Context, from, to string) (err error) {
	if l.Trace != nil {
		var end func(error)
		ctx, end = l.Trace(ctx, "push")
		defer func() { end(err) }()
	}
	return l.Committer.Push(ctx, l.URL, l.Head, from, to)
}

func short(commit string) string { return commit[:min(7, len(commit))] }

// judge says on the commit what there is to say. It precedes the text that says so.
func (l *Living) judge(ctx context.Context, p *Proposal, mark *Mark) error {
	if l.Open != nil {
		if is := MarkOf(l.Open.Body); is.Commit == mark.Commit && maps.Equal(is.Statuses, mark.Statuses) {
			return nil
		}
	}
	// A status may tell people to set a label, which they can only do when there is one.
	for _, label := range p.Labels {
		if label.Theirs {
			if err := l.Repository.EnsureLabel(ctx, label.Label); err != nil {
				return fmt.Errorf("create label %q: %w", label.Name, err)
			}
		}
	}
	for _, s := range p.Statuses {
		s.Description = forge.OneLine(s.Description, l.Limits.StatusDescription)
		if err := l.Repository.SetStatus(ctx, mark.Commit, s); err != nil {
			return fmt.Errorf("set status %q: %w", s.Context, err)
		}
		if err := l.done("status set", fmt.Sprintf("set %s to %s", s.Context, s.State)); err != nil {
			return err
		}
	}
	return nil
}

// body is the text with its mark, cut to what the forge takes.
func (l *Living) body(p *Proposal, mark *Mark) string {
	room := 0
	if l.Limits.Body > 0 {
		room = max(l.Limits.Body-len(mark.String())-20, 200)
	}
	return forge.Mark(p.Body(room), mark.String(), l.Limits.Body)
}

// describe opens the change, or makes its title and text say what it does.
func (l *Living) describe(ctx context.Context, p *Proposal, mark *Mark) error {
	body := l.body(p, mark)
	if l.Open == nil {
		opened, err := l.Repository.OpenPullRequest(ctx, forge.NewPullRequest{Head: l.Head, Base: l.Base, Title: p.Title, Body: body})
		if err != nil {
			return fmt.Errorf("open the change: %w", err)
		}
		l.Open = &opened
		return l.done("opened", fmt.Sprintf("opened change %d", opened.Number))
	}
	edit := forge.PullRequestEdit{}
	if l.Open.Title != p.Title {
		edit.Title = &p.Title
	}
	if !same(l.Open.Body, body) {
		edit.Body = &body
	}
	if edit.Empty() {
		return nil
	}
	if err := l.Repository.EditPullRequest(ctx, l.Open.Number, edit); err != nil {
		return fmt.Errorf("edit change %d: %w", l.Open.Number, err)
	}
	l.Open.Title, l.Open.Body = p.Title, body
	return l.done("edited", fmt.Sprintf("edited change %d", l.Open.Number))
}

// remark makes the text carry a mark that changed after it was written.
func (l *Living) remark(ctx context.Context, p *Proposal, mark *Mark) error {
	body := l.body(p, mark)
	if err := l.Repository.EditPullRequest(ctx, l.Open.Number, forge.PullRequestEdit{Body: &body}); err != nil {
		return fmt.Errorf("edit change %d: %w", l.Open.Number, err)
	}
	l.Open.Body = body
	return nil
}

// label makes the change wear the labels that it should.
func (l *Living) label(ctx context.Context, p *Proposal, _ *Mark) error {
	for _, label := range p.Labels {
		if label.Theirs || label.Worn == l.Open.HasLabel(label.Name) {
			continue
		}
		what, err := l.wear(ctx, label)
		if err != nil {
			return fmt.Errorf("label %q: %w", label.Name, err)
		}
		if err := l.done("labelled", what+" label "+label.Name); err != nil {
			return err
		}
	}
	return nil
}

func (l *Living) wear(ctx context.Context, label Label) (what string, err error) {
	if !label.Worn {
		return "removed", l.Repository.RemoveLabel(ctx, l.Open.Number, label.Name)
	}
	if err := l.Repository.EnsureLabel(ctx, label.Label); err != nil {
		return "", err
	}
	return "added", l.Repository.AddLabels(ctx, l.Open.Number, label.Name)
}
