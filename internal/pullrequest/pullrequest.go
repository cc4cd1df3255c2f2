package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// PullRequest is the one pull request from a branch to another. Call [PullRequest.Find] first.
type PullRequest struct {
	// Repository hosts it, on a forge with these Limits. [PullRequest.Locate] sets both. // required
	Repository forge.Repository
	Limits     forge.Limits
	// Settle is how long after a push an automatic merge waits for checks of others to appear; [PullRequest.Locate] sets it.
	Settle time.Duration
	// Now is the clock; it defaults to [time.Now].
	Now func() time.Time
	// Committer writes to the repository. // required
	Committer Committer
	// URL is the repository's, as the committer knows it. // required
	URL string
	// Base is the branch that it is merged into, at the commit and time that were read.
	// Commit is empty for a branch that does not exist yet. // required
	Base   string
	Commit string
	Time   time.Time
	// Head is the branch that it is merged from. // required
	Head string
	// Name is the environment's, or another name for [Mark.Name].
	Name string
	// Fork returns the commit at which the history of a commit left that of the base. The commit can be fetched from ref. // required
	Fork func(ctx context.Context, ref, commit string) (string, error)
	// Trace is called when a step begins, and returns a function to call with its error when it ends; optional.
	Trace func(ctx context.Context, step string) (context.Context, func(error))

	// Open is the open pull request; nil if there is none.
	Open *forge.PullRequest
	// Refused is the pull request that a user closed. It stays closed until the proposal differs. Nil if there is none.
	Refused *forge.PullRequest
	// Waits says why the pull request is not opened, or not merged automatically.
	Waits string
	// Next is when another round is needed without an event, because Waits ends then; zero for never.
	Next time.Time
	// Did lists what was done, in order.
	Did []string

	// closed is the newest pull request that is not open; without a state if it was merged.
	closed *forge.PullRequest
	// early is set if the statuses of the commit were set before it was pushed.
	early bool
	// opened is set if this round opened it.
	opened bool
	// denied is the refusal of the statuses, if the credential may not set them.
	denied error
}

// Forges find the forge that hosts a repository.
type Forges interface {
	// Forge returns the forge of a URL, or a forge.ErrInvalid if none is configured that hosts it.
	Forge(url string) (forge.Forge, error)
}

// Proposal is what a pull request should be.
type Proposal struct {
	// Put are files to write, Delete files to remove.
	Put    map[string][]byte
	Delete []string
	// Message is that of the commit. When is its time, unless the base is later.
	Message string
	When    time.Time
	Title   string
	// Body writes the text in at most limit bytes; 0 means no limit. A pull request is not edited for lines alone that begin
	// with "<sub>".
	Body func(limit int) string
	// Digest identifies what is proposed. // required
	Digest string
	// Inputs are the commits of the sources by name, for the mark.
	Inputs map[string]string
	// Statuses are set on the commit.
	Statuses []forge.Status
	// Findings are what checks report. Those in the files of Put become annotations, if the forge has them.
	Findings []check.Finding
	Labels   []Label
	// AutoMerge merges the pull request when every status of its commit has succeeded. A forge that can wait for that itself is asked
	// to merge, if the base branch requires each of RequiredChecks.
	AutoMerge      bool
	RequiredChecks []string
	// Again opens it also if a user closed a pull request that proposed the same.
	Again bool
}

// Label is a label of a pull request.
type Label struct {
	forge.Label
	// Applied is whether the pull request has it. Users apply a label that is ByUsers; it only has to exist.
	Applied bool
	ByUsers bool
}

// Locate finds the forge of the repository.
func (p *PullRequest) Locate(forges Forges) error {
	host, err := forges.Forge(p.URL)
	if err != nil {
		return err
	}
	p.Limits = host.Limits()
	if settler, ok := host.(forge.Settler); ok {
		p.Settle = settler.Settle()
	}
	p.Repository, err = host.Repository(p.URL)
	return err
}

// Find finds the open pull request, and the newest that was closed.
func (p *PullRequest) Find(ctx context.Context) error {
	all, err := p.Repository.FindPullRequests(ctx, forge.PullRequestFilter{Head: p.Head, Base: p.Base, Limit: 10})
	if err != nil {
		return fmt.Errorf("find the pull request: %w", err)
	}
	for i := range all {
		switch found := &all[i]; {
		case found.State == forge.Open && p.Open == nil:
			p.Open = found
		case found.State == forge.Closed && p.closed == nil:
			p.closed = found
		case found.State == forge.Merged && p.closed == nil:
			p.closed = &forge.PullRequest{} // what was closed before a merge no longer matters
		}
	}
	return nil
}

// Closed returns the newest pull request if it was closed without being merged, and nil otherwise.
// [PullRequest.Propose] decides whether that refuses a proposal.
func (p *PullRequest) Closed() *forge.PullRequest {
	if p.Open != nil || p.closed == nil || p.closed.State != forge.Closed {
		return nil
	}
	return p.closed
}

// Published returns the mark of the open pull request; zero if there is none.
func (p *PullRequest) Published() Mark {
	if p.Open == nil {
		return Mark{}
	}
	return MarkOf(p.Open.Body)
}

func (p *PullRequest) did(format string, args ...any) {
	p.Did = append(p.Did, fmt.Sprintf(format, args...))
}

// mark returns the mark of a proposal that has no commit yet.
func (p *PullRequest) mark(proposal *Proposal) Mark {
	m := Mark{Name: p.Name, Digest: proposal.Digest, Base: p.Commit, Inputs: proposal.Inputs, Statuses: map[string]forge.StatusState{}}
	for _, s := range proposal.Statuses {
		m.Statuses[s.Context] = s.State
	}
	return m
}

// Propose updates branch, statuses, pull request and labels where they differ from the proposal, and merges if that is asked for.
func (p *PullRequest) Propose(ctx context.Context, proposal Proposal) error {
	mark := p.mark(&proposal)
	proposal.Title = forge.OneLine(proposal.Title, p.Limits.Title)
	if p.Open == nil && !proposal.Again && p.refused(ctx, mark) {
		p.Refused = p.closed
		p.Waits = fmt.Sprintf("pull request %d was closed by a user; it is opened again when what it proposes changes", p.closed.Number)
		return nil
	}
	if err := p.commit(ctx, &proposal, &mark); err != nil {
		return err
	}
	was := p.Published()
	if mark.Annotated = was.Annotated; was.Merging == mark.Commit {
		mark.Merging = mark.Commit
	}
	for _, do := range []func(context.Context, *Proposal, *Mark) error{p.setStatuses, p.describe, p.explain, p.label, p.merge, p.followQueue, p.annotate} {
		if err := do(ctx, &proposal, &mark); err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether a user closed the newest pull request, which proposed the same. Forges also close a pull request whose base
// is deleted or replaced: then the commit that it was made on is not in the base's history any more, and no user has refused it.
func (p *PullRequest) refused(ctx context.Context, want Mark) bool {
	if p.closed == nil {
		return false
	}
	was := MarkOf(p.closed.Body) // without a digest if it was withdrawn
	if was.Digest != want.Digest || was.Base == want.Base {
		return was.Digest == want.Digest
	}
	fork, err := p.Fork(ctx, "", was.Base)
	return err == nil && fork == was.Base || ctx.Err() != nil
}

// commit writes the files to the head branch, unless it has them on the same base already.
func (p *PullRequest) commit(ctx context.Context, proposal *Proposal, mark *Mark) error {
	p.early = false
	head, err := p.Committer.Head(ctx, p.URL, p.Head)
	if err != nil {
		return fmt.Errorf("read branch %q: %w", p.Head, err)
	}
	if was := p.Published(); p.Open != nil && was.Digest == mark.Digest && was.Base == mark.Base && was.Commit == head {
		mark.Commit = was.Commit
		return nil
	}
	when := proposal.When
	if when.Before(p.Time) {
		when = p.Time
	}
	mark.Commit, err = p.Committer.Commit(ctx, Commit{
		Repo: p.URL, Branch: p.Base, Parent: p.Commit, Put: proposal.Put, Delete: proposal.Delete, Message: proposal.Message, When: when,
	})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	p.did("committed %s", fleet.ShortCommit(mark.Commit))
	if head == mark.Commit {
		return nil
	}
	if early, ok := p.Repository.(forge.EarlyStatuses); ok {
		if err := p.postStatuses(ctx, proposal, mark.Commit, early.SetEarlyStatus); err != nil {
			return err
		}
		p.early = true
	}
	if err := p.push(ctx, head, mark.Commit); err != nil {
		return fmt.Errorf("push branch %q: %w", p.Head, err)
	}
	p.did("pushed %s", p.Head)
	return nil
}

// push moves the head branch.
func (p *PullRequest) push(ctx context.Context, from, to string) (err error) {
	if p.Trace != nil {
		var end func(error)
		ctx, end = p.Trace(ctx, "push")
		defer func() { end(err) }()
	}
	return p.Committer.Push(ctx, p.URL, p.Head, from, to)
}

// setStatuses sets the statuses of the commit, before the text that refers to them.
func (p *PullRequest) setStatuses(ctx context.Context, proposal *Proposal, mark *Mark) error {
	if was := p.Published(); p.early || p.Open != nil && was.Commit == mark.Commit && maps.Equal(was.Statuses, mark.Statuses) {
		return nil
	}
	return p.postStatuses(ctx, proposal, mark.Commit, func(ctx context.Context, commit string, s forge.Status) error {
		if p.denied != nil {
			return nil
		}
		err := p.Repository.SetStatus(ctx, commit, s)
		if unauthorized(err) || !errors.Is(err, forge.ErrDenied) || unfinished(proposal.Statuses) != nil {
			return err
		}
		p.denied = err
		return nil
	})
}

// explain comments on a pull request whose statuses are denied, as those of protected branches are to some roles of GitLab. The round
// continues without them, unless one of them has to prevent a merge. The mark lists them, so this is said once for each commit.
func (p *PullRequest) explain(ctx context.Context, proposal *Proposal, _ *Mark) error {
	if p.denied == nil {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The statuses of this pull request cannot be set: %s.\n\nThey are posted with the next commit that this proposes, if the token has the right then. "+
		"A branch that requires them cannot be merged into without.\n\n", markdown.Code(p.denied.Error()))
	for _, s := range proposal.Statuses {
		fmt.Fprintf(&b, "- %s: %s, %s\n", markdown.Code(s.Context), s.State, markdown.Code(s.Description))
	}
	if _, err := p.Repository.UpsertComment(ctx, p.Open.Number, "kalypso/statuses/"+p.Name, b.String()); err != nil {
		return fmt.Errorf("comment on pull request %d: %w", p.Open.Number, err)
	}
	p.did("could not set the statuses: %v", p.denied)
	return nil
}

func (p *PullRequest) postStatuses(ctx context.Context, proposal *Proposal, commit string, set func(context.Context, string, forge.Status) error) error {
	// A status may ask users to apply a label, which has to exist.
	for _, label := range proposal.Labels {
		if label.ByUsers {
			if err := p.Repository.EnsureLabel(ctx, label.Label); err != nil {
				return fmt.Errorf("create label %q: %w", label.Name, err)
			}
		}
	}
	for _, s := range proposal.Statuses {
		s.Description = forge.OneLine(s.Description, p.Limits.StatusDescription)
		if err := set(ctx, commit, s); err != nil {
			return fmt.Errorf("set status %q: %w", s.Context, err)
		}
		if p.denied == nil {
			p.did("set %s to %s", s.Context, s.State)
		}
	}
	return nil
}

// body returns the text with its mark, cut to the limit of the forge.
func (p *PullRequest) body(proposal *Proposal, mark *Mark) string {
	limit := 0
	if p.Limits.Body > 0 {
		limit = max(p.Limits.Body-len(mark.String())-20, 200)
	}
	return forge.Mark(proposal.Body(limit), mark.String(), p.Limits.Body)
}

// describe opens the pull request, or updates its title and text.
func (p *PullRequest) describe(ctx context.Context, proposal *Proposal, mark *Mark) error {
	body := p.body(proposal, mark)
	if p.Open == nil {
		opened, err := p.Repository.OpenPullRequest(ctx, forge.NewPullRequest{Head: p.Head, Base: p.Base, Title: proposal.Title, Body: body})
		if errors.Is(err, forge.ErrConflict) {
			// It exists, but the forge's list is late; or the forge does not know the pushed branch yet.
			err = errors.Join(ErrMoved, err)
		}
		if err != nil {
			return fmt.Errorf("open the pull request: %w", err)
		}
		p.Open, p.opened = &opened, true
		p.did("opened pull request %d", opened.Number)
		return nil
	}
	edit := forge.PullRequestEdit{}
	if p.Open.Title != proposal.Title {
		edit.Title = &proposal.Title
	}
	if !same(p.Open.Body, body) {
		edit.Body = &body
	}
	if edit.Empty() {
		return nil
	}
	if err := p.Repository.EditPullRequest(ctx, p.Open.Number, edit); err != nil {
		return fmt.Errorf("edit pull request %d: %w", p.Open.Number, err)
	}
	p.Open.Title, p.Open.Body = proposal.Title, body
	p.did("edited pull request %d", p.Open.Number)
	return nil
}

// writeMark writes a mark that changed after the text was written.
func (p *PullRequest) writeMark(ctx context.Context, proposal *Proposal, mark *Mark) error {
	body := p.body(proposal, mark)
	if err := p.Repository.EditPullRequest(ctx, p.Open.Number, forge.PullRequestEdit{Body: &body}); err != nil {
		return fmt.Errorf("edit pull request %d: %w", p.Open.Number, err)
	}
	p.Open.Body = body
	return nil
}

// label applies and removes labels.
func (p *PullRequest) label(ctx context.Context, proposal *Proposal, _ *Mark) error {
	for _, label := range proposal.Labels {
		if label.ByUsers || label.Applied == p.Open.HasLabel(label.Name) {
			continue
		}
		what, err := "removed", error(nil)
		if label.Applied {
			what, err = "added", p.Repository.EnsureLabel(ctx, label.Label)
			if err == nil {
				err = p.Repository.AddLabels(ctx, p.Open.Number, label.Name)
			}
		} else {
			err = p.Repository.RemoveLabel(ctx, p.Open.Number, label.Name)
		}
		if err != nil {
			return fmt.Errorf("label %q: %w", label.Name, err)
		}
		p.did("%s label %s", what, label.Name)
	}
	return nil
}
