package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
)

// sampleApp is the simulated CI of the application team. What it built, the server delivers.
type sampleApp struct {
	flows  *wiring.Flows
	ledger deliver.Ledger
	// told is called when something was built.
	told    func(subject string)
	request deliver.Request
	charts  repository.Charts
	cache   *fleet.Cache
	log     *slog.Logger
	// often is how often it looks, whether something is said to have happened or not.
	often time.Duration
	woken chan struct{}
	// stop ends the events of the local forge.
	stop func()
	// built is the last commit that was built.
	built string
}

func newSampleApp(t *terminal.Terminal, s *wiring.Server, site sample.Site, often time.Duration) (*sampleApp, error) {
	charts, err := remote.NewUserClient(func(name string) string { return t.Env[name] })
	if err != nil {
		return nil, err
	}
	a := &sampleApp{
		flows: s.Flows, ledger: s.Ledger, log: s.Log, often: often, woken: make(chan struct{}, 1), stop: func() {},
		request: deliver.Request{Source: site.Repository(sample.App), Branch: "main"},
		charts:  repository.Charts{Client: charts}, cache: &fleet.Cache{}, told: s.Keeper.RunChain,
	}
	if s.LocalForge != nil {
		a.stop = s.LocalForge.Subscribe(func(forge.Event) { a.wake() })
	}
	return a, nil
}

// wake makes it look soon.
func (a *sampleApp) wake() {
	select {
	case a.woken <- struct{}{}:
	default:
	}
}

// run goes on until the context ends.
func (a *sampleApp) run(ctx context.Context) {
	timer := time.NewTicker(a.often)
	defer timer.Stop()
	last := ""
	for ctx.Err() == nil {
		err := a.round(ctx)
		if text := fmt.Sprint(err); err != nil && ctx.Err() == nil && text != last {
			a.log.Error("build hello-world-app", "error", err)
			last = text
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-a.woken:
		}
	}
}

// round builds what is new.
func (a *sampleApp) round(ctx context.Context) error {
	// A loader keeps what it resolved, so each round has its own.
	loader := &deliver.Loader{Repositories: repository.NewDeliveryReader(a.flows.Client), Charts: a.charts, Cache: a.cache}
	app, err := loader.Application(ctx, a.request, "")
	if err != nil {
		return err
	}
	return a.build(ctx, app)
}

// build does what CI would: it gives the head of the source a version, and says so on the commit. There is no image.
func (a *sampleApp) build(ctx context.Context, app *deliver.Application) error {
	head := app.Source.Commit
	if head == a.built {
		return nil
	}
	known, err := deliver.RecordedBuilds(ctx, a.ledger, app.Subject())
	if err != nil {
		return err
	}
	if _, ok := known[head]; !ok {
		version, err := a.version(ctx)
		if err != nil {
			return err
		}
		b := deliver.Build{Commit: head, Version: version, Image: version}
		if err := deliver.RecordBuild(ctx, a.ledger, app.Subject(), b, "simulated CI", time.Now()); err != nil {
			return err
		}
		if err := a.say(ctx, head, "Built "+version+" (simulated)"); err != nil {
			return err
		}
		a.told(app.Subject())
		a.log.Info("built "+version, "application", "hello-world-app", "commit", head)
	}
	a.built = head
	return nil
}

// version is what the source calls its next build.
func (a *sampleApp) version(ctx context.Context) (string, error) {
	repo, err := a.flows.Client.Open(ctx, a.request.Source)
	if err != nil {
		return "", err
	}
	head, err := repo.Resolve(ctx, a.request.Branch, "")
	if err != nil {
		return "", err
	}
	tree := repo.Tree(head)
	found, err := tree.Files(ctx, "VERSION")
	if err != nil {
		return "", err
	}
	if len(found) != 1 || found[0].Mode != git.Regular {
		return "", errors.New("VERSION of hello-world-app is no file")
	}
	text, err := tree.Read(ctx, found[0], 100)
	return strings.TrimSpace(string(text)), err
}

// say shows on a commit of the source what CI did.
func (a *sampleApp) say(ctx context.Context, commit, what string) error {
	host, err := a.flows.Forges.Forge(a.request.Source)
	if err != nil {
		return err
	}
	on, err := host.Repository(a.request.Source)
	if err != nil {
		return err
	}
	return on.SetStatus(ctx, commit, forge.Status{Context: "ci", State: forge.Success, Description: what})
}
