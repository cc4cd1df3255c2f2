package external

import (
	"context"
	"encoding/json"
	"fmt"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/schedule/placementdecision"
)

// PlacementDecisions is a scheduler that follows the PlacementDecisions of another system. They are facts: an answer is used
// until one of the placements that it is made from changes.
type PlacementDecisions struct {
	// Read returns files with the documents.
	Read func(ctx context.Context) ([][]byte, error) // required
	// Namespace is the only one whose placements count. Default: all.
	Namespace string
}

// Observe implements [Observer].
func (p *PlacementDecisions) Observe(ctx context.Context) (Observation, error) {
	files, err := p.Read(ctx)
	if err != nil {
		return nil, err
	}
	all, err := placementdecision.Read(files)
	if err != nil {
		return nil, err
	}
	wanted := all[:0]
	for _, found := range all {
		if p.Namespace == "" || found.Namespace == p.Namespace {
			wanted = append(wanted, found)
		}
	}
	return func(r *schedulingv1.Request) (json.RawMessage, error) {
		text, err := json.Marshal(placementdecision.For(r, wanted))
		return text, err
	}, nil
}

// Ask implements [Scheduler].
func (p *PlacementDecisions) Ask(_ context.Context, r *schedulingv1.Request) (*schedulingv1.Response, error) {
	var placements []placementdecision.Placement
	if err := json.Unmarshal(r.Facts, &placements); err != nil {
		return nil, fmt.Errorf("decode the facts: %w", err)
	}
	return placementdecision.Answer(r, placements), nil
}
