package promoting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promotion"
	"github.com/kalypso-io/kalypso/internal/scheduling"
	"github.com/kalypso-io/kalypso/internal/secret"
)

// mark is the machine-readable part of a proposal: what it is for. One that was withdrawn has none,
// since what is closed with its mark was turned down by a person.
type mark struct {
	Environment string `json:"environment"`
	From        string `json:"from"`
	Commit      string `json:"commit"`
	// Base is the commit of the environment's branch that Head was made on, Head the one that is proposed.
	Base string `json:"base"`
	Head string `json:"head"`
}

// markPrefix begins the marker line of a body.
const markPrefix = "kalypso-promotion:"

// String is the marker. What would end the comment that holds it is escaped as JSON allows.
func (m mark) String() string {
	data, err := json.Marshal(m)
	if err != nil {
		return markPrefix + "{}" // cannot happen: a mark holds nothing but texts
	}
	return markPrefix + strings.NewReplacer("--", `-\u002d`, " ", `\u0020`).Replace(string(data))
}

// markOf reads the mark of a body; the zero value when it has none, or one that is broken.
func markOf(body string) mark {
	var m mark
	for line := range strings.Lines(body) {
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "<!-- "), " -->")
		if data, ok := strings.CutPrefix(text, markPrefix); ok && json.Unmarshal([]byte(data), &m) != nil {
			return mark{}
		}
	}
	return m
}

// changes finds the open change request of an environment, and those that were closed since the last that was merged.
func (p *Platform) changes(ctx context.Context, repo forge.Repository, t *town) (open *forge.Change, closed []forge.Change, err error) {
	all, err := repo.FindChanges(ctx, forge.ChangeFilter{Head: ProposalBranch(t.name), Base: t.at.Branch, Limit: 20})
	if err != nil {
		return nil, nil, fmt.Errorf("find the proposals: %w", err)
	}
	for i := range all {
		switch c := &all[i]; c.State {
		case forge.Open:
			if open == nil {
				open = c
			}
		case forge.Closed:
			closed = append(closed, *c)
		case forge.Merged: // what was closed before has no say any more
			return open, closed, nil
		}
	}
	return open, closed, nil
}

// proposals are what people are or were asked.
func (p *Platform) proposals(ctx context.Context, t *town) ([]Proposal, error) {
	_, repo, err := p.locate(t.at.Repo)
	if repo == nil || err != nil {
		return nil, err
	}
	open, closed, err := p.changes(ctx, repo, t)
	if err != nil {
		return nil, err
	}
	var all []Proposal
	if open != nil {
		m := markOf(open.Body)
		if m.Head != open.Head.Commit {
			m.From = "" // cut off, or pushed to by somebody: it is not what it says, and is made again or closed
		}
		all = append(all, Proposal{Proposal: promotion.Proposal{From: m.From, Commit: m.Commit, State: promotion.ProposalOpen, URL: open.URL}})
	}
	for _, c := range closed {
		if m := markOf(c.Body); m.Commit != "" {
			all = append(all, Proposal{promotion.Proposal{From: m.From, Commit: m.Commit, State: promotion.ProposalClosed, URL: c.URL}, c.EndedAt})
		}
	}
	return all, nil
}

// proposal is one that is being made.
type proposal struct {
	town *town
	move Move
	// commit is on top of head, the commit of the environment's branch.
	commit, head string
	host         forge.Forge
	repo         forge.Repository
}

// propose makes the one change request of the environment the one that is wanted: branch first, then the text that speaks of it.
func (p *Platform) propose(ctx context.Context, o *proposal) (Moved, error) {
	open, _, err := p.changes(ctx, o.repo, o.town)
	if err != nil {
		return Moved{}, err
	}
	branch := ProposalBranch(o.town.name)
	was, err := p.Committer.Head(ctx, o.town.at.Repo, branch)
	if err != nil {
		return Moved{}, fmt.Errorf("read branch %q: %w", branch, err)
	}
	want := mark{Environment: o.town.name, From: o.move.From, Commit: o.move.Commit, Base: o.head, Head: o.commit}
	if open != nil {
		is := markOf(open.Body)
		if is.Head == was {
			want.Head = is.Head // a signature need not be the same twice
		}
		if is == want && was == want.Head {
			return Moved{URL: open.URL}, nil
		}
		want.Head = o.commit
	}
	if was != o.commit {
		if err := p.Committer.Push(ctx, o.town.at.Repo, branch, was, o.commit); err != nil {
			return Moved{}, fmt.Errorf("push branch %q: %w", branch, err)
		}
		if err := p.done("proposal pushed"); err != nil {
			return Moved{}, err
		}
	}
	return p.describe(ctx, o, open, want)
}

// describe opens the change request, or makes it say what it is now.
func (p *Platform) describe(ctx context.Context, o *proposal, open *forge.Change, want mark) (Moved, error) {
	limits := o.host.Limits()
	title := forge.OneLine(o.move.title(), limits.Title)
	body := forge.Mark(p.body(o), want.String(), limits.Body)
	if open != nil {
		if err := o.repo.EditChange(ctx, open.Number, forge.ChangeEdit{Title: &title, Body: &body}); err != nil {
			return Moved{}, fmt.Errorf("edit change %d: %w", open.Number, err)
		}
		return Moved{Did: fmt.Sprintf("proposed in change %d: %s", open.Number, title), URL: open.URL}, p.done("proposed")
	}
	opened, err := o.repo.OpenChange(ctx, forge.NewChange{Head: ProposalBranch(o.town.name), Base: o.town.at.Branch, Title: title, Body: body})
	if errors.Is(err, forge.ErrConflict) {
		return Moved{}, errors.Join(scheduling.ErrMoved, err) // another server was faster
	}
	if err != nil {
		return Moved{}, fmt.Errorf("open the proposal: %w", err)
	}
	return Moved{Did: fmt.Sprintf("opened change %d: %s", opened.Number, title), URL: opened.URL}, p.done("proposed")
}

// maxListed is how many commits a proposal tells of.
const maxListed = 50

// body says what merging does, and which commits that brings along.
func (p *Platform) body(o *proposal) string {
	var b strings.Builder
	m := o.move
	switch {
	case m.From == m.Commit:
		fmt.Fprintf(&b, "Environment `%s` follows the head of `main`. Merging this keeps it at the commit that it has, "+
			"so that further ones come in by promotion only.\n", m.Environment)
	case m.Back:
		fmt.Fprintf(&b, "Merging this takes environment `%s` back from `%s` to `%s`, which ran there without failure.\n", m.Environment, short(m.From), short(m.Commit))
	default:
		fmt.Fprintf(&b, "Merging this promotes `%s` to environment `%s`, which has `%s`.\n", short(m.Commit), m.Environment, short(m.From))
	}
	if m.Reason != "" {
		fmt.Fprintf(&b, "\nWhy: `%s`\n", code(m.Reason))
	}
	p.list(&b, m)
	b.WriteString("\nClosed, it stays closed until another commit is to be promoted; `kalypso promote` asks again.\n")
	return b.String()
}

// list tells of the commits that come, or go, the newest first.
func (p *Platform) list(b *strings.Builder, m Move) {
	from := slices.IndexFunc(p.line, func(c Commit) bool { return c.SHA == m.From })
	to := slices.IndexFunc(p.line, func(c Commit) bool { return c.SHA == m.Commit })
	if from < 0 || to < 0 || from == to {
		return
	}
	word := "comes with it"
	if from > to {
		from, to, word = to, from, "goes with it"
	}
	fmt.Fprintf(b, "\nWhat %s:\n\n", word)
	commits := slices.Clone(p.line[from+1 : to+1])
	slices.Reverse(commits)
	for i, c := range commits {
		if i == maxListed {
			fmt.Fprintf(b, "- and %d more\n", len(commits)-i)
			break
		}
		fmt.Fprintf(b, "- `%s` `%s`\n", short(c.SHA), code(c.Subject))
	}
}

// code makes somebody's text safe between two backticks.
func code(text string) string {
	return strings.ReplaceAll(secret.Line(secret.Redact(text)), "`", "'")
}

// Withdraw closes an open proposal. It forgets what it was for first: what is closed with its mark was turned down by a person.
func (p *Platform) Withdraw(ctx context.Context, w promotion.Withdraw) error {
	d, err := p.described(ctx, w.Environment)
	if err != nil {
		return err
	}
	host, repo, err := p.locate(d.At.Repo)
	if repo == nil || err != nil {
		return err
	}
	open, _, err := p.changes(ctx, repo, &town{name: w.Environment, at: d.At})
	if open == nil || err != nil || markOf(open.Body).Commit != w.Commit {
		return err
	}
	note := "Nobody needs to decide about this any more: " + w.Reason + "."
	if _, err := repo.UpsertComment(ctx, open.Number, "kalypso-promotion/withdrawn", note); err != nil {
		return fmt.Errorf("comment on change %d: %w", open.Number, err)
	}
	body := forge.Cut("This was withdrawn.\n", host.Limits().Body)
	if err := repo.EditChange(ctx, open.Number, forge.ChangeEdit{Body: &body}); err != nil {
		return fmt.Errorf("edit change %d: %w", open.Number, err)
	}
	if err := p.done("proposal forgotten"); err != nil {
		return err
	}
	closed := forge.Closed
	if err := repo.EditChange(ctx, open.Number, forge.ChangeEdit{State: &closed}); err != nil && !errors.Is(err, forge.ErrConflict) {
		return fmt.Errorf("close change %d: %w", open.Number, err)
	}
	return p.done("proposal closed")
}
