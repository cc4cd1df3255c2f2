package promote

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Platform moves the commits of a control plane's main branch: an environment names one in the BaseRepo of its own branch.
//
// Where the rules or the protection of the branch want people to agree, it asks them with the one living change
// from [ProposalBranch]. Like the repositories that it reads, a Platform is for one round.
type Platform struct {
	// ControlPlane is the URL of its repository. // required
	ControlPlane string
	// Chain names environments one after the other; it is how those without rules of their own take part.
	Chain []string
	// Loader reads the control plane. // required
	Loader *schedule.Loader
	// Lines gives the history of its main branch. // required
	Lines Lines
	// Committer writes to environment branches; its Push says [ErrProtected] when the branch takes proposals only. // required
	Committer pullrequest.Committer
	// Forges host the control plane. Without one that does, environments move only by themselves, and nothing is shown. // required
	Forges pullrequest.Forges
	// Rollouts are what scheduling rounds found. // required
	Rollouts Rollouts
	// Link returns the page of an environment for people, which statuses lead to; nil for none.
	Link func(environment string) string
	// Step is told the name of each step after it is done; for tests that end a round there. May be nil.
	Step func(name string) error

	// line is that of the last reading: proposals and messages tell of it.
	line []Commit
}

// Lines knows the history of branches.
type Lines interface {
	// Line returns the commits that a branch was at, the oldest first, and the newest limit of them at most:
	// of a merge only the side that it was merged into.
	Line(ctx context.Context, branch schedule.Location, limit int) ([]Commit, error)
}

var _ Pipeline = (*Platform)(nil)

// ProposalBranch returns the branch that changes of an environment's promoted commit are proposed from.
func ProposalBranch(environment string) string { return "kalypso-promote/" + environment }

const (
	// maxLine is how many commits of main are known by their place. Older ones that an environment runs are found by themselves.
	maxLine = 1000
	// maxReaders is how many environments are read at once.
	maxReaders = 8
)

// Read finds out where every commit of main is.
func (p *Platform) Read(ctx context.Context) (*Reading, error) {
	described, problems, err := p.Loader.Descriptions(ctx, p.request())
	if err != nil {
		return nil, err
	}
	main := schedule.Location{Repo: p.ControlPlane, Branch: schedule.DefaultBase}
	r := &Reading{Subject: ledger.CleanRepository(p.ControlPlane), Read: []schedule.Location{main}}
	if r.Line, err = p.Lines.Line(ctx, main, maxLine); err != nil {
		return nil, err
	}
	for _, d := range described {
		r.Stages = append(r.Stages, decide.Stage{Name: d.Environment.Name, Promotion: d.Environment.Spec.Promotion, Position: d.Position})
	}
	var wrong []fleet.Problem
	r.Chain, wrong = decide.NewChain(r.Stages, p.Chain)
	r.Problems = fleet.SortProblems(append(problems, wrong...))
	r.Places = p.places(ctx, r, described)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.reachBack(ctx, main, r); err != nil {
		return nil, err
	}
	p.line = r.Line
	return r, nil
}

func (p *Platform) request() schedule.Request {
	return schedule.Request{ControlPlane: p.ControlPlane}
}

// places reads the environments of the chain.
func (p *Platform) places(ctx context.Context, r *Reading, described []schedule.Description) []Place {
	names := r.Chain.Names()
	places := make([]Place, len(names))
	limit := make(chan struct{}, maxReaders)
	var wait sync.WaitGroup
	for i, name := range names {
		at := slices.IndexFunc(described, func(d schedule.Description) bool { return d.Environment.Name == name })
		if at < 0 {
			places[i] = Place{Environment: name, Unknown: "main lists no such environment"}
			continue
		}
		r.Read = append(r.Read, described[at].At)
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			places[i] = p.place(ctx, described[at], head(r.Line))
		})
	}
	wait.Wait()
	return places
}

func head(line []Commit) string {
	if len(line) == 0 {
		return ""
	}
	return line[len(line)-1].SHA
}

// place reads one environment. What goes wrong there concerns only this one.
func (p *Platform) place(ctx context.Context, d schedule.Description, head string) Place {
	place := Place{Environment: d.Environment.Name}
	town, err := p.town(ctx, d, "")
	if err != nil {
		place.Unknown = err.Error()
		return place
	}
	place.Commit, place.Follows, place.Head = town.base.Spec.Commit, town.base.Spec.Commit == "", town.source.Commit
	if place.Follows {
		place.Commit = head
	}
	if place.GitOps, err = p.gitOps(town); err != nil {
		place.Unknown = err.Error()
		return place
	}
	if place.Proposals, err = p.proposals(ctx, town); err != nil {
		place.Unknown = err.Error()
		return place
	}
	outcome, err := p.Rollouts.Rollout(ctx, place.Environment)
	if err != nil {
		place.Unknown = err.Error()
		return place
	}
	place.Rollout = RolloutOf(outcome, place.Commit, place.Head)
	return place
}

// reachBack adds to the line what environments name and what lies further back, or was on the other side of a merge.
// Of two such commits the one that is further along the chain is taken for the older one, as it is where nobody pushed over anything.
func (p *Platform) reachBack(ctx context.Context, main schedule.Location, r *Reading) error {
	for _, place := range r.Places {
		known := place.Commit == "" || slices.ContainsFunc(r.Line, func(c Commit) bool { return c.SHA == place.Commit })
		if known {
			continue
		}
		on, err := p.Loader.Repositories.Contains(ctx, main, place.Commit)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && on { // an error is a commit that does not exist any more
			r.Line = slices.Insert(r.Line, 0, Commit{SHA: place.Commit})
		}
	}
	return nil
}

// SetStatus shows how a commit stands, in the control plane or where the environment's branch is.
func (p *Platform) SetStatus(ctx context.Context, s decide.SetStatus) error {
	d, err := p.described(ctx, s.Environment)
	if err != nil {
		return err
	}
	url := p.ControlPlane
	if !slices.ContainsFunc(p.line, func(c Commit) bool { return c.SHA == s.Commit }) {
		url = d.At.Repo
	}
	_, repo, err := p.locate(url)
	if err != nil {
		return err
	}
	if repo == nil {
		return ErrNoCommit
	}
	// Clusters say why they fail, in words that are theirs.
	status := forge.Status{Context: s.Environment, State: forge.StatusState(s.State), Description: secret.Scrub(s.Description)}
	if p.Link != nil {
		status.URL = p.Link(s.Environment)
	}
	err = repo.SetStatus(ctx, s.Commit, status)
	if errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrInvalid) {
		return errors.Join(ErrNoCommit, err)
	}
	return err
}

// locate finds the forge that hosts a repository; nil when none does.
func (p *Platform) locate(url string) (forge.Forge, forge.Repository, error) {
	host, err := p.Forges.Forge(url)
	if errors.Is(err, forge.ErrInvalid) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	repo, err := host.Repository(url)
	return host, repo, err
}
