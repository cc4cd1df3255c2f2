package main

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// trials plan what people want to try on the pages.
func (f *flows) trials() *trial.Desk {
	comparisons := &schedule.Comparisons{}
	return &trial.Desk{Try: func(ctx context.Context, t schedule.Trial) (*schedule.Preview, error) {
		// Each reads the heads of branches anew.
		p := &schedule.Previewer{Drafter: f.drafter(), Forges: f.forges, Forks: f.previewForks}
		p.Drafter.Comparisons = comparisons
		return p.Try(ctx, t)
	}}
}
