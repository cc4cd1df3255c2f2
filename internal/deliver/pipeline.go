package deliver

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// Pipeline moves the commits of an application's source. An environment has the commit of its open pull request or,
// without one, the commit that its GitOps branch was rendered from. A
// Pipeline is for one round, like its repositories.
type Pipeline struct {
	Deliverer *Deliverer // required
	Request   Request    // required
	// Lines returns the history of the source. // required
	Lines promote.Lines
	// Outcomes are the results of rounds. // required
	Outcomes Outcomes
	// Ledger has the recorded builds, and the cluster types of targets. // required
	Ledger Ledger
	// Link returns the URL of an environment's page, for statuses; optional.
	Link func(environment string) string

	// Branches reads the branches of rings. // required
	Branches promote.RingBranches

	// Results of the last Read.
	app *Application
	// rings are the GitOps branches of the environments with rings.
	rings    map[string]hub.Source
	line     []promote.Commit
	builds   map[string]Build
	outcomes map[string]*Outcome
}

var (
	_ promote.Pipeline     = (*Pipeline)(nil)
	_ promote.StatusReader = (*Pipeline)(nil)
	_ promote.ReviewReader = (*Pipeline)(nil)
)

// Outcomes returns the results of the rounds of an application's environments.
type Outcomes interface {
	// Outcome returns the result of an environment's last round; nil before the first one. It returns an error if the
	// state of the environment is unknown.
	Outcome(ctx context.Context, environment string) (*Outcome, error)
}

// Ledger is the part of the ledger that delivery needs.
type Ledger interface {
	RecordStep(ctx context.Context, s ledger.Step) error
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	Wanted(ctx context.Context, q ledger.WantedQuery) (ledger.Wanted, error)
}

const (
	// maxLine is how many commits of the source are read, from the head.
	maxLine = 1000
	// maxReaders is how many environments are read concurrently.
	maxReaders = 8
)

// Read determines which environments have which commits of the source.
func (p *Pipeline) Read(ctx context.Context) (*promote.State, error) {
	main := schedule.Location{Repo: p.Request.Source, Branch: p.Request.Branch}
	var err error
	if p.app, err = p.Deliverer.Loader.Application(ctx, p.Request, ""); err != nil {
		return nil, err
	}
	if p.line, err = p.Lines.Line(ctx, main, maxLine); err != nil {
		return nil, fmt.Errorf("read the history of the source: %w", err)
	}
	r := &promote.State{Subject: p.app.Subject(), Workspace: p.Request.Workspace, Read: []schedule.Location{main}}
	for _, e := range p.app.Delivery.Spec.Environments {
		r.Stages = append(r.Stages, decide.Stage{Name: e.Name, Promotion: e.Promotion, Gate: scheduler.GateHealthy, Position: p.app.Position})
	}
	var wrong []fleet.Problem
	r.Chain, wrong = decide.NewChain(r.Stages, nil)
	r.Problems = fleet.SortProblems(append(wrong, p.app.Problems...))
	r.Places = p.places(ctx, r.Chain.Names())
	for _, o := range p.outcomes {
		r.Read = append(r.Read, o.Read...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Line, err = p.candidates(ctx, r)
	return r, err
}

// places reads the environments.
func (p *Pipeline) places(ctx context.Context, names []string) []promote.EnvironmentState {
	places, found := make([]promote.EnvironmentState, len(names)), make([]*Outcome, len(names))
	limit := make(chan struct{}, maxReaders)
	var wait sync.WaitGroup
	for i, name := range names {
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			places[i], found[i] = p.place(ctx, name)
		})
	}
	wait.Wait()
	p.outcomes, p.rings = map[string]*Outcome{}, map[string]hub.Source{}
	for i, o := range found {
		if places[i].Rings != nil {
			p.rings[names[i]] = places[i].GitOps
		}
		if o != nil {
			p.outcomes[names[i]] = o
		}
	}
	return places
}

// place reads one environment. Errors affect only that environment.
func (p *Pipeline) place(ctx context.Context, environment string) (promote.EnvironmentState, *Outcome) {
	place := promote.EnvironmentState{Environment: environment}
	o, err := p.Outcomes.Outcome(ctx, environment)
	switch {
	case err != nil:
		place.Unknown = err.Error()
		return place, o
	case o == nil || o.GitOps == nil:
		place.Unknown = "it was not read yet"
		return place, o
	}
	place.Commit = o.Current().Commit
	if b := o.GitOps.Build; b.Commit == place.Commit {
		place.Version, place.Image = b.Version, b.Image
	}
	place.Rollout, place.Rendered = o.Rollout(place.Commit), o.Rendered
	place.GitOps = hub.Source{Repository: o.GitOps.Location.Repo, Ref: o.GitOps.Location.Branch}
	place.Rings = p.ringsOf(ctx, place.GitOps, environment)
	if o.Draft != nil && o.Draft.Config != nil {
		place.Head = o.Draft.Config.Input.Commit
	}
	place.Expect, err = p.expect(ctx, o, environment)
	if err != nil {
		place.Unknown = err.Error()
	}
	return place, o
}

// expect returns the reconcilers that must follow the manifests: those of the clusters of the cluster types that the
// platform assigned the targets to, without pinned targets.
func (p *Pipeline) expect(ctx context.Context, o *Outcome, environment string) (func([]comply.Cluster, string) []comply.Expected, error) {
	workload := p.app.Workload.Name
	wanted, err := p.Ledger.Wanted(ctx, ledger.WantedQuery{Environment: environment, Workload: workload})
	if err != nil {
		return nil, fmt.Errorf("read where targets are assigned: %w", err)
	}
	types := map[string][]string{}
	for _, a := range wanted.Assignments {
		if a.Workload == workload && a.Environment == environment {
			types[a.Target] = append(types[a.Target], a.ClusterType)
		}
	}
	var targets []comply.Target
	if o.Draft != nil && o.Draft.Tree != nil {
		for _, e := range o.Draft.Tree.Targets {
			if !e.Pin.IsZero() {
				continue // it does not run the commit
			}
			targets = append(targets, comply.Target{
				Name: e.Name, ClusterTypes: slices.Concat(types[fleet.TargetName(workload, e.Name)]),
				Source: hub.Source{
					Repository: ledger.CleanRepository(o.GitOps.Location.Repo), Ref: o.GitOps.Location.Branch,
					Path: path.Join(o.GitOps.Location.Path, e.Folder),
				},
			})
		}
	}
	return func(all []comply.Cluster, ref string) []comply.Expected {
		following := slices.Clone(targets)
		for i := range following {
			following[i].Source.Ref = ref
		}
		return comply.ExpectTargets(all, environment, following)
	}, nil
}

// candidates returns the commits of the source that can be promoted: those with a recorded build, and those that
// environments have. If nothing is built, as for third-party charts, it returns all commits.
func (p *Pipeline) candidates(ctx context.Context, r *promote.State) ([]promote.Commit, error) {
	var err error
	if p.builds, err = p.known(ctx); err != nil {
		return nil, err
	}
	line := p.line
	for _, place := range r.Places {
		if place.Commit == "" || slices.ContainsFunc(line, func(c promote.Commit) bool { return c.SHA == place.Commit }) {
			continue
		}
		on, err := p.Deliverer.Loader.Repositories.Contains(ctx, schedule.Location{Repo: p.Request.Source, Branch: p.Request.Branch}, place.Commit)
		if err == nil && on { // older than the commits that were read
			line = slices.Insert(slices.Clone(line), 0, promote.Commit{SHA: place.Commit})
		}
	}
	if !p.app.built() {
		return line, ctx.Err()
	}
	var candidates []promote.Commit
	for _, c := range line {
		if _, ok := p.builds[c.SHA]; ok {
			candidates = append(candidates, c)
		}
	}
	return candidates, ctx.Err()
}

// built reports whether CI builds something that a commit's delivery has to name, such as an image tag.
func (a *Application) built() bool {
	spec := a.Delivery.Spec
	return len(spec.Services) == 0 && spec.Chart != nil && spec.Chart.Path != ""
}

// known returns the recorded builds, and those of the environments, by commit.
func (p *Pipeline) known(ctx context.Context) (map[string]Build, error) {
	builds, err := RecordedBuilds(ctx, p.Ledger, p.app.Subject())
	if err != nil {
		return nil, err
	}
	for _, o := range p.outcomes {
		all := []Build{o.Closed, o.Build}
		if o.GitOps != nil {
			all = append(all, o.GitOps.Build)
		}
		for _, b := range all {
			if _, ok := builds[b.Commit]; !ok && b.Commit != "" {
				builds[b.Commit] = b
			}
		}
	}
	return builds, nil
}

// Build returns the build of a commit that would be promoted to an environment, after [Pipeline.Read]. A commit can be built more than once: the build that ran
// counts, not the latest one. It is the one that an environment before this one has, for which its rules let the commit in;
// else the one that was here before, as in a rollback; else the recorded one.
func (p *Pipeline) Build(ctx context.Context, environment, commit string) (Build, error) {
	return p.next(ctx, environment, commit, false)
}

// next is [Pipeline.Build]; back means that the environment goes back to the commit, so that only what ran there counts.
func (p *Pipeline) next(ctx context.Context, environment, commit string, back bool) (Build, error) {
	if !back {
		for _, e := range p.app.Delivery.Spec.Environments {
			if e.Name != environment || e.Promotion == nil {
				continue
			}
			for _, before := range e.Promotion.After {
				if o := p.outcomes[before]; o != nil && o.GitOps != nil && o.GitOps.Build.Commit == commit {
					return o.GitOps.Build, nil
				}
			}
		}
	}
	steps, err := p.Ledger.Steps(ctx, ledger.StepQuery{
		Subject: p.app.Subject(), Environment: environment, Commit: commit, Kind: string(promote.Published), Limit: 1,
	})
	if err != nil {
		return Build{}, fmt.Errorf("read what was published in %q: %w", environment, err)
	}
	if b, ok := PublishedBuild(steps, commit); ok {
		return b, nil
	}
	b, ok := p.builds[commit]
	if !ok && p.app.built() {
		return Build{}, fmt.Errorf("no build of commit %s is recorded; record one with kalypso app deploy --commit %[1]s", fleet.ShortCommit(commit))
	}
	b.Commit = commit
	return b, nil
}

// Move renders a commit for an environment, and opens or updates its pull request.
func (p *Pipeline) Move(ctx context.Context, m promote.Move) (promote.MoveResult, error) {
	if environment, stage := decide.SplitRing(m.Environment); stage != "" {
		return p.moveRing(ctx, environment, stage, m)
	}
	now, err := p.Deliverer.current(ctx, p.Request, m.Environment)
	if err != nil {
		return promote.MoveResult{}, err
	}
	if now.Commit == m.Commit || now.Commit != m.From {
		return promote.MoveResult{}, nil // another program was faster
	}
	build, err := p.next(ctx, m.Environment, m.Commit, m.Back)
	if err != nil {
		return promote.MoveResult{}, err
	}
	o, err := p.Deliverer.Round(ctx, RoundRequest{
		Request: p.Request, Environment: m.Environment, Build: build,
		ByHand: m.Approval == scheduler.ApprovalPullRequest,
	})
	if errors.Is(err, ErrNoConfig) {
		return promote.MoveResult{}, errors.Join(err, p.reportFailure(ctx, m, err))
	}
	if err != nil {
		return promote.MoveResult{}, err
	}
	if len(o.Did) == 0 {
		return promote.MoveResult{}, nil
	}
	what := "promoted %s to %s"
	switch {
	case m.Back && m.Approval == scheduler.ApprovalPullRequest:
		what = "proposed to go back to %s in %[2]s"
	case m.Back:
		what = "went back to %s in %[2]s"
	}
	return promote.MoveResult{Did: fmt.Sprintf(what, build.Name(), m.Environment)}, nil
}

// reportFailure posts a status on a commit that explains why it cannot be promoted to an environment.
func (p *Pipeline) reportFailure(ctx context.Context, m promote.Move, why error) error {
	host, err := p.Deliverer.Forges.Forge(p.Request.Source)
	if err != nil {
		return nil //nolint:nilerr // where no forge hosts the source, there is nowhere to show it
	}
	repo, err := host.Repository(p.Request.Source)
	if err != nil {
		return err
	}
	return schedule.SetStatus(ctx, repo, host.Limits(), m.Commit, forge.Status{
		Context: p.app.StatusContext(m.Environment), State: forge.Failure, Description: why.Error(),
	})
}

// Withdraw closes an environment's open pull request for a commit.
func (p *Pipeline) Withdraw(ctx context.Context, w decide.Withdraw) error {
	return p.Deliverer.withdraw(ctx, p.Request, w)
}

// ReadReviews reads the reviews of the pull requests to the GitOps branch of an environment.
func (p *Pipeline) ReadReviews(ctx context.Context, environment, from, to string) ([]promote.ReviewedPullRequest, error) {
	o := p.outcomes[environment]
	if o == nil || o.GitOps == nil {
		return nil, nil
	}
	at := o.GitOps.Location
	host, err := p.Deliverer.Forges.Forge(at.Repo)
	if errors.Is(err, forge.ErrInvalid) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	repo, err := host.Repository(at.Repo)
	if err != nil {
		return nil, err
	}
	return promote.ReadReviews(ctx, host, repo, p.app.HeadBranch(environment), at.Branch, from, to)
}

// SetStatus posts the status of an environment on a commit of the source or of the configuration.
func (p *Pipeline) SetStatus(ctx context.Context, s decide.SetStatus) error {
	repo, configured := p.Request.Source, false
	if environment, ring := decide.SplitRing(s.Environment); ring != "" {
		repo = p.rings[environment].Repository
	}
	if o := p.outcomes[s.Environment]; o != nil && o.Draft != nil && o.Draft.Config != nil {
		if at := o.Draft.Config; at.Input.Commit == s.Commit {
			repo, configured = at.Location.Repo, true
		}
	}
	host, err := p.Deliverer.Forges.Forge(repo)
	if errors.Is(err, forge.ErrInvalid) {
		return promote.ErrNoCommit
	}
	if err != nil {
		return err
	}
	on, err := host.Repository(repo)
	if err != nil {
		return err
	}
	status := forge.Status{
		Context: p.app.statusContext(s.Environment), State: forge.StatusState(s.State),
		Description: forge.OneLine(p.describe(s, configured), host.Limits().StatusDescription),
	}
	if s.Check != "" {
		status.Context += "/" + s.Check
	}
	if p.Link != nil {
		environment, _ := decide.SplitRing(s.Environment)
		status.URL = p.Link(environment)
	}
	err = on.SetStatus(ctx, s.Commit, status)
	if errors.Is(err, forge.ErrNotFound) {
		return errors.Join(promote.ErrNoCommit, err)
	}
	return err
}

// ReadStatuses returns the statuses of a commit of the source.
func (p *Pipeline) ReadStatuses(ctx context.Context, commit string) ([]forge.Status, error) {
	host, err := p.Deliverer.Forges.Forge(p.Request.Source)
	if errors.Is(err, forge.ErrInvalid) {
		return nil, promote.ErrNoCommit
	}
	if err != nil {
		return nil, err
	}
	repo, err := host.Repository(p.Request.Source)
	if err != nil {
		return nil, err
	}
	return promote.StatusesOf(ctx, repo, commit)
}

// describe returns a status's description. It adds the version once that is deployed, and mentions deployed
// configuration changes.
func (p *Pipeline) describe(s decide.SetStatus, configured bool) string {
	if s.Check != "" {
		return s.Description
	}
	o := p.outcomes[s.Environment]
	version := p.builds[s.Commit].Version
	if b, ok := o.of(s.Commit); ok {
		version = b.Version
	}
	if configured && o != nil {
		version = o.Build.Name()
	}
	text := s.Description
	if configured && text == "Deployed" {
		text = "Configured"
	}
	first, rest, _ := strings.Cut(text, ",")
	if version == "" || !slices.Contains([]string{"Promoted", "Deployed", "Configured"}, first) {
		return text
	}
	if rest != "" {
		rest = "," + rest
	}
	return first + " " + version + rest
}

// current returns the build of an environment; see [Outcome.Current].
func (d *Deliverer) current(ctx context.Context, request Request, environment string) (Build, error) {
	r, err := d.find(ctx, RoundRequest{Request: request, Environment: environment})
	if err != nil {
		return Build{}, err
	}
	return r.outcome.Current(), nil
}

// withdraw closes an environment's open pull request if it is for the given commit.
func (d *Deliverer) withdraw(ctx context.Context, request Request, w decide.Withdraw) error {
	r, err := d.find(ctx, RoundRequest{Request: request, Environment: w.Environment})
	if err != nil {
		return err
	}
	if buildOf(r.pull.Published()).Commit != w.Commit {
		return nil
	}
	return r.pull.Withdraw(ctx, markdown.Escape(w.Reason))
}
