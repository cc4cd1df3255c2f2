package schedule

import (
	"context"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
)

// asks reports whether policies have external schedulers or extenders.
func (w *drafting) asks() bool {
	asks := func(l *Loaded) bool {
		return slices.ContainsFunc(l.Snapshot.Policies, func(p *fleet.Policy) bool { return p.External() || len(p.Extenders) > 0 })
	}
	return asks(w.draft.Loaded) || w.base != nil && asks(w.base)
}

// ask asks the external schedulers, unless their answers are recorded on the GitOps branch or in its open pull request.
func (w *drafting) ask(ctx context.Context) error {
	published := w.standing
	proposed := sync.OnceValue(func() map[string][]bundle.Answer { return w.proposed(ctx) })
	ask := func(l *Loaded, into *external.Asked) error {
		asked, err := w.Schedulers.Ask(ctx, external.Input{
			Snapshot: l.Snapshot, Standing: published.Standing, Recorded: published.Answers, Progress: w.Loader.progress,
			Proposed: func(policy string) []bundle.Answer { return proposed()[policy] },
		})
		if err == nil {
			*into = *asked
		}
		return err
	}
	if w.base != nil {
		if err := ask(w.base, &w.baseAsked); err != nil {
			return err
		}
	}
	return ask(w.draft.Loaded, &w.asked)
}

// proposed returns the answers that the environment's open pull request would record. Without it, programs that remember
// nothing would ask again until it is merged.
func (w *drafting) proposed(ctx context.Context) map[string][]bundle.Answer {
	at, err := w.Loader.gitOpsLocation(w.draft.Loaded, w.request.Folder)
	if err != nil || at.Repo == "" {
		return nil
	}
	at.Branch = pullrequest.HeadBranch(w.draft.Loaded.Snapshot.Environment)
	branch, _, err := w.Loader.Repositories.GitOps(ctx, at)
	if err != nil {
		return nil // there is none, or the schedulers are asked
	}
	branch.Root = at.Path
	return bundle.ReadAnswers(branch, w.draft.Loaded.Snapshot.Environment)
}
