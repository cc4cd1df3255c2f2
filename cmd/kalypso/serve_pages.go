package main

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// trials plan what people want to try on the pages.
func (f *flows) trials() *trial.Desk {
	answers := &schedule.Answers{}
	return &trial.Desk{Try: func(ctx context.Context, t schedule.Trial) (*schedule.Preview, error) {
		// Each reads the heads of branches anew.
		p := &schedule.Previewer{Loader: f.loader(), Forges: f.forges, Forks: f.previewForks, Answers: answers}
		return p.Try(ctx, t)
	}}
}
