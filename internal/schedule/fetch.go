package schedule

import (
	"context"
	"fmt"
	"sync"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxFetches is how many repositories are read at the same time.
const maxFetches = 8

// wish is a source that an object of the control plane names.
type wish struct {
	name       string // of the object
	repository v1alpha1.Repository
}

// readConfigRepos reads the configuration repositories of the environment branch.
func (w *walk) readConfigRepos(ctx context.Context) map[string]fleet.Fetched {
	var wishes []wish
	for _, c := range w.in.Branch.ConfigRepos {
		wishes = append(wishes, wish{c.Value.Name, c.Value.Spec})
	}
	return w.fetch(ctx, wishes, "configuration repositories")
}

// readWorkloads reads the places that the registrations name.
func (w *walk) readWorkloads(ctx context.Context) map[string]fleet.Fetched {
	var wishes []wish
	for _, r := range fleet.Registrations(w.in.Main, w.in.Branch) {
		wishes = append(wishes, wish{r.Value.Name, r.Value.Spec.Workload})
	}
	return w.fetch(ctx, wishes, "workloads")
}

// fetch reads several sources at once. One that cannot be read stands for itself and does not stop the others.
func (w *walk) fetch(ctx context.Context, wishes []wish, what string) map[string]fleet.Fetched {
	if len(wishes) > 0 {
		w.progress(fmt.Sprintf("reading %d %s", len(wishes), what))
	}
	results := make([]fleet.Fetched, len(wishes))
	inputs := make([]Input, len(wishes))
	limit := make(chan struct{}, maxFetches)
	var wait sync.WaitGroup
	for i := range wishes {
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			results[i].Objects, inputs[i], results[i].Err = w.readWish(ctx, wishes[i])
		})
	}
	wait.Wait()
	fetched := make(map[string]fleet.Fetched, len(wishes))
	for i := range wishes {
		fetched[wishes[i].name] = results[i]
		if results[i].Err == nil {
			w.inputs.Others = append(w.inputs.Others, inputs[i])
		}
	}
	return fetched
}

func (w *walk) readWish(ctx context.Context, wish wish) (*fleet.Objects, Input, error) {
	at, err := w.repository(wish.repository)
	if err != nil {
		return nil, Input{}, err
	}
	name := wish.repository.Repo
	if at.Repo == w.controlPlane && at.Branch != "" {
		// People call a branch of the control plane by its own name.
		name = at.Branch
	}
	return w.read(ctx, name, at)
}
