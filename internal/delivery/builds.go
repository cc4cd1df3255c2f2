package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// stepBuilt is the kind of the steps that say what CI made of a commit.
const stepBuilt = "built"

// everywhere stands for the environment in steps that are about a commit as a whole.
const everywhere = "*"

// RecordBuild puts on record what CI made of a commit, so that every environment gets the same.
func RecordBuild(ctx context.Context, l Ledger, subject string, b Build, by string, now time.Time) error {
	if err := b.check(); err != nil {
		return err
	}
	detail, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return l.RecordStep(ctx, ledger.Step{
		PromotionID: ledger.PromotionID{Subject: subject, Commit: b.Commit, Environment: everywhere},
		Kind:        stepBuilt, Reason: "CI built " + b.Name(), By: by, At: now.UTC(), Detail: detail,
	})
}

// maxBuilds is how many builds of the past are known.
const maxBuilds = 5000

// RecordedBuilds returns what CI made of commits, by commit; of one that was built twice the later build.
func RecordedBuilds(ctx context.Context, l Ledger, subject string) (map[string]Build, error) {
	steps, err := l.Steps(ctx, ledger.StepQuery{Subject: subject, Environment: everywhere, Kind: stepBuilt, Limit: maxBuilds})
	if err != nil {
		return nil, fmt.Errorf("read what CI built: %w", err)
	}
	builds := map[string]Build{}
	for _, s := range steps { // the newest first
		var b Build
		if json.Unmarshal(s.Detail, &b) != nil || b.Commit != s.Commit || b.check() != nil {
			continue
		}
		if _, later := builds[b.Commit]; !later {
			builds[b.Commit] = b
		}
	}
	return builds, nil
}
