package schedule

import (
	"context"
	"fmt"
	"sync"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxFetches is how many repositories are read concurrently.
const maxFetches = 8

// reference is a repository that an object of the control plane refers to.
type reference struct {
	name       string // of the object
	repository v1alpha1.Repository
}

// readConfigRepos reads the configuration repositories of the environment branch.
func (w *walk) readConfigRepos(ctx context.Context) map[string]fleet.Fetched {
	var references []reference
	for _, c := range w.in.Branch.ConfigRepos {
		references = append(references, reference{c.Value.Name, c.Value.Spec})
	}
	return w.fetch(ctx, references, "configuration repositories", func(s fleet.Source) fleet.Source { return s })
}

func (w *walk) readWorkloads(ctx context.Context) map[string]fleet.Fetched {
	var references []reference
	for _, r := range fleet.Registrations(w.in.Main, w.in.Branch) {
		references = append(references, reference{r.Value.Name, r.Value.Spec.Workload})
	}
	return w.fetch(ctx, references, "workloads", fleet.Source.OfApplication)
}

// fetch reads the selected files of several repositories, by object. A failure does not affect the others.
func (w *walk) fetch(ctx context.Context, references []reference, what string, selected func(fleet.Source) fleet.Source) map[string]fleet.Fetched {
	if len(references) > 0 {
		w.progress(fmt.Sprintf("reading %d %s", len(references), what))
	}
	results := make([]fleet.Fetched, len(references))
	inputs := make([]Input, len(references))
	limit := make(chan struct{}, maxFetches)
	var wait sync.WaitGroup
	for i := range references {
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			results[i].Objects, inputs[i], results[i].Err = w.readReference(ctx, references[i], selected)
		})
	}
	wait.Wait()
	fetched := make(map[string]fleet.Fetched, len(references))
	for i := range references {
		fetched[references[i].name] = results[i]
		if results[i].Err == nil {
			w.inputs.Others = append(w.inputs.Others, inputs[i])
		}
	}
	return fetched
}

func (w *walk) readReference(ctx context.Context, r reference, selected func(fleet.Source) fleet.Source) (*fleet.Objects, Input, error) {
	at, err := w.repository(r.repository)
	if err != nil {
		return nil, Input{}, err
	}
	name := r.repository.Repo
	if at.Repo == w.controlPlane && at.Branch != "" {
		name = at.Branch
	}
	return w.readAs(ctx, name, w.fixed(name, at), selected)
}
