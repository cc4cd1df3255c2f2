package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Platform promotes the commits of a control plane's main branch. An environment's commit is in the BaseRepo of its branch.
//
// If the rules or the branch protection require approval, Platform opens the environment's only pull request
// from [ProposalBranch]. Like the repositories that it reads, a Platform is for one round.
type Platform struct {
	// ControlPlane is the URL of the control plane's repository. // required
	ControlPlane string
	// Chain lists environments in order, and adds those without rules to the chain.
	Chain []string
	// Loader reads the control plane. // required
	Loader *schedule.Loader
	// Lines returns the history of the main branch. // required
	Lines Lines
	// Committer writes to environment branches. Its Push returns [ErrProtected] for a protected branch. // required
	Committer pullrequest.Committer
	// Rings reads the branches of rings. // required
	Rings RingBranches
	// Forges host the control plane. Without a matching forge, there are no proposals and statuses. // required
	Forges pullrequest.Forges
	// Rollouts returns the results of scheduling rounds. // required
	Rollouts Rollouts
	// Link returns the URL of an environment's page, for commit statuses; optional.
	Link func(environment string) string

	// line is that of the last reading, for proposals and messages.
	line []Commit
	// ringSources are the GitOps branches of the environments with rings, by environment.
	ringSources map[string]ringSource
	// gitOpsBranches are the GitOps branches of all environments.
	gitOpsBranches map[string]hub.Source
}

// Lines gives access to the history of branches.
type Lines interface {
	// Line returns at most the newest limit commits of a branch, oldest first, following the first parent of merges.
	Line(ctx context.Context, branch schedule.Location, limit int) ([]Commit, error)
}

var (
	_ Pipeline     = (*Platform)(nil)
	_ StatusReader = (*Platform)(nil)
	_ ReviewReader = (*Platform)(nil)
)

// ProposalBranch returns the branch of an environment's promotion pull requests.
func ProposalBranch(environment string) string { return "kalypso-promote/" + environment }

const (
	// maxLine is how many commits of main are read. Older commits of environments are looked up one by one.
	maxLine = 1000
	// maxReaders is how many environments are read concurrently.
	maxReaders = 8
)

// Read returns the state of all environments.
func (p *Platform) Read(ctx context.Context) (*State, error) {
	described, problems, err := p.Loader.Descriptions(ctx, p.request())
	if err != nil {
		return nil, err
	}
	main := schedule.Location{Repo: p.ControlPlane, Branch: schedule.DefaultBase}
	r := &State{Subject: ledger.CleanRepository(p.ControlPlane), Read: []schedule.Location{main}, OnlyMoves: true}
	if r.Line, err = p.Lines.Line(ctx, main, maxLine); err != nil {
		return nil, err
	}
	for _, d := range described {
		r.Stages = append(r.Stages, decide.Stage{Name: d.Environment.Name, Promotion: d.Environment.Spec.Promotion, Position: d.Position})
	}
	var wrong []fleet.Problem
	r.Chain, wrong = decide.NewChain(r.Stages, p.Chain)
	r.Problems = fleet.SortProblems(append(problems, wrong...))
	r.Places = p.places(ctx, r, r.Chain.Names(), described)
	r.Watched = p.places(ctx, r, withoutRules(r.Chain, described), described)
	p.ringSources, p.gitOpsBranches = map[string]ringSource{}, map[string]hub.Source{}
	for _, place := range r.Places {
		p.gitOpsBranches[place.Environment] = place.GitOps
		if place.Rings != nil {
			p.ringSources[place.Environment] = ringSourceOf(&place)
			r.Read = append(r.Read, schedule.Location{Repo: place.GitOps.Repository, Branch: place.GitOps.Ref})
		}
	}
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

// withoutRules returns the names of the environments that are not in the chain.
func withoutRules(chain *decide.Chain, described []schedule.Description) []string {
	var names []string
	for _, d := range described {
		if _, ok := chain.Rules(d.Environment.Name); !ok && !slices.Contains(names, d.Environment.Name) {
			names = append(names, d.Environment.Name)
		}
	}
	return names
}

// places reads environments.
func (p *Platform) places(ctx context.Context, r *State, names []string, described []schedule.Description) []EnvironmentState {
	places := make([]EnvironmentState, len(names))
	limit := make(chan struct{}, maxReaders)
	var wait sync.WaitGroup
	for i, name := range names {
		at := slices.IndexFunc(described, func(d schedule.Description) bool { return d.Environment.Name == name })
		if at < 0 {
			places[i] = EnvironmentState{Environment: name, Unknown: "main lists no such environment"}
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

// place reads one environment. Errors are returned as [EnvironmentState.Unknown].
func (p *Platform) place(ctx context.Context, d schedule.Description, head string) EnvironmentState {
	place := EnvironmentState{Environment: d.Environment.Name}
	branch, err := p.environmentBranch(ctx, d, "")
	if err != nil {
		place.Unknown = err.Error()
		return place
	}
	place.Commit, place.Follows, place.Head = branch.base.Spec.Commit, branch.base.Spec.Commit == "", branch.source.Commit
	if place.Follows {
		place.Commit = head
	}
	if place.GitOps, err = p.gitOps(branch); err != nil {
		place.Unknown = err.Error()
		return place
	}
	if place.Proposals, err = p.proposals(ctx, branch); err != nil {
		place.Unknown = err.Error()
		return place
	}
	outcome, err := p.Rollouts.Rollout(ctx, place.Environment)
	if err != nil {
		place.Unknown = err.Error()
		return place
	}
	place.Rollout = RolloutOf(outcome, place.Commit, place.Head)
	if outcome != nil {
		place.Rendered = outcome.Rendered
	}
	place.Folders = foldersOf(outcome)
	place.Rings = p.ringsOf(ctx, &place, outcome)
	return place
}

// foldersOf returns the clusters that have folders of their own, as the last round read the GitOps branch.
func foldersOf(o *schedule.Outcome) comply.Folders {
	if o == nil || o.Bundle == nil {
		return comply.Folders{Unknown: true}
	}
	return comply.Folders{Types: o.Bundle.Published().ClusterFolders()}
}

// reachBack prepends to the line the commits of environments that are older than the line, or were merged from another branch.
// Commits of environments later in the chain come first, because they are older unless a branch was force-pushed.
func (p *Platform) reachBack(ctx context.Context, main schedule.Location, r *State) error {
	for _, place := range r.Places {
		known := place.Commit == "" || slices.ContainsFunc(r.Line, func(c Commit) bool { return c.SHA == place.Commit })
		if known {
			continue
		}
		on, err := p.Loader.Repositories.Contains(ctx, main, place.Commit)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && on { // a commit that does not exist is an error
			r.Line = slices.Insert(r.Line, 0, Commit{SHA: place.Commit})
		}
	}
	return nil
}

// SetStatus posts a status in the control plane, or in the repository of the environment's branch.
// The status of a ring is posted in the GitOps repository.
func (p *Platform) SetStatus(ctx context.Context, s decide.SetStatus) error {
	environment, ring := decide.SplitRing(s.Environment)
	d, err := p.described(ctx, environment)
	if err != nil {
		return err
	}
	url := p.ControlPlane
	switch {
	case ring != "":
		url = p.ringSources[environment].gitOps.Repository
	case !slices.ContainsFunc(p.line, func(c Commit) bool { return c.SHA == s.Commit }):
		url = d.At.Repo
	}
	_, repo, err := p.locate(url)
	if err != nil {
		return err
	}
	if repo == nil {
		return ErrNoCommit
	}
	// The description can contain messages of clusters.
	status := forge.Status{Context: s.Context(), State: forge.StatusState(s.State), Description: secret.Scrub(s.Description)}
	if p.Link != nil {
		status.URL = p.Link(environment)
	}
	err = repo.SetStatus(ctx, s.Commit, status)
	if errors.Is(err, forge.ErrNotFound) {
		return errors.Join(ErrNoCommit, err)
	}
	return err
}

// ReadStatuses returns the statuses of a commit of the control plane.
func (p *Platform) ReadStatuses(ctx context.Context, commit string) ([]forge.Status, error) {
	_, repo, err := p.locate(p.ControlPlane)
	if err != nil {
		return nil, err
	}
	return StatusesOf(ctx, repo, commit)
}

// ReadReviews reads the reviews of the pull requests to the GitOps branch of an environment.
func (p *Platform) ReadReviews(ctx context.Context, environment, from, to string) ([]ReviewedPullRequest, error) {
	at, known := p.gitOpsBranches[environment]
	if !known {
		return nil, nil
	}
	host, repo, err := p.locate(at.Repository)
	if repo == nil || err != nil {
		return nil, err
	}
	pulls, err := ReadReviews(ctx, host, repo, pullrequest.HeadBranch(environment), at.Ref, from, to)
	if err != nil || from == "" {
		return pulls, err
	}
	line, err := p.Lines.Line(ctx, schedule.Location{Repo: at.Repository, Branch: at.Ref}, maxLine)
	if err != nil {
		return nil, fmt.Errorf("read the GitOps branch %q: %w", at.Ref, err)
	}
	return pulls, coveredBy(pulls, line, from, to)
}

// StatusesOf reads the statuses and CI results of a commit. repo is nil if no forge hosts the repository.
func StatusesOf(ctx context.Context, repo forge.Repository, commit string) ([]forge.Status, error) {
	if repo == nil {
		return nil, ErrNoCommit
	}
	read := repo.Statuses
	if checker, ok := repo.(forge.Checker); ok {
		read = checker.Checks
	}
	all, err := read(ctx, commit)
	if errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrInvalid) {
		return nil, errors.Join(ErrNoCommit, err)
	}
	return all, err
}

// locate returns the forge that hosts a repository, or nil.
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
