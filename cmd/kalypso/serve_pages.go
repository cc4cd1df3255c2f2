package main

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/scheduling"
	"github.com/kalypso-io/kalypso/internal/web/trial"
)

// trials plan what people want to try on the pages.
func (f *flows) trials() *trial.Desk {
	answers := &scheduling.Answers{}
	return &trial.Desk{Try: func(ctx context.Context, t scheduling.Trial) (*scheduling.Preview, error) {
		// Each reads the heads of branches anew.
		p := &scheduling.Previewer{Loader: f.loader(), Forges: f.forges, Forks: f.previewForks, Answers: answers}
		return p.Try(ctx, t)
	}}
}
