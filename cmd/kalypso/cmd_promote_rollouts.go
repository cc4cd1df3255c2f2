package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// scheduledRollouts schedules environments, as a round of the server does, says how far their manifests have come, and
// records what is on their GitOps branches.
type scheduledRollouts struct {
	*looker
	loader   *schedule.Loader
	recorder *record.Recorder

	mu sync.Mutex
	// did is what was done, by environment: several are scheduled at the same time.
	did map[string][]string
}

var _ promote.Rollouts = (*scheduledRollouts)(nil)

// Rollout implements [promote.Rollouts].
func (s *scheduledRollouts) Rollout(ctx context.Context, environment string) (*schedule.Outcome, error) {
	p := &schedule.Proposer{Drafter: &schedule.Drafter{Loader: s.loader}, Committer: s.commits, Forges: s.forges}
	outcome, err := p.Round(ctx, schedule.Request{ControlPlane: s.session.request.ControlPlane, Environment: environment})
	if outcome != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.did[environment] = outcome.Did
	}
	if err != nil || outcome.Loaded == nil {
		return outcome, err
	}
	return outcome, s.record(ctx, outcome.Loaded)
}

// record notes what GitOps branches want. Those of applications that cannot be read are no reason not to promote the platform.
func (s *scheduledRollouts) record(ctx context.Context, loaded *schedule.Loaded) error {
	hosts := &record.Hosts{}
	hosts.Add(s.session.request.ControlPlane)
	hosts.AddRead(loaded)
	branches, _ := record.Branches(loaded, repository.NewReader(s.session.client).Resolve, hosts)
	for _, branch := range branches {
		if _, err := s.recorder.Branch(ctx, branch); err != nil && branch.Kind == ledger.BranchPlatform {
			return fmt.Errorf("record branch %q of %s: %w", branch.Branch, secret.Redact(branch.Repository), err)
		}
	}
	return ctx.Err()
}

// all is what was done everywhere.
func (s *scheduledRollouts) all() []string {
	var lines []string
	for _, environment := range slices.Sorted(maps.Keys(s.did)) {
		for _, line := range s.did[environment] {
			lines = append(lines, environment+": "+line)
		}
	}
	return lines
}
