package deliver

import (
	"context"
	"slices"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Images looks up digests of images in their registries.
type Images interface {
	// Digests returns the digests of the images whose references have none. It does not wait long: a registry that does not answer
	// is a reason, not an error.
	Digests(ctx context.Context, references []string) map[string]ImageDigest
}

// ImageDigest is the digest of an image in its registry, or the reason why it is not known.
type ImageDigest struct {
	Digest string `json:"digest,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Pending means that the registry may still answer.
	Pending bool `json:"-"`
}

// digests adds the digests of the images of what changes to the plan. They are for reviewers only: manifests and records
// depend on nothing but the commits.
func (d *Drafter) digests(ctx context.Context, draft *Draft) {
	if d.Images == nil {
		return
	}
	var references []string
	for _, t := range draft.Plan.Targets {
		if t.Op != plan.Added && t.Op != plan.Changed {
			continue
		}
		for _, image := range t.Images {
			if parsed, err := chart.ParseImage(image); err == nil && parsed.Digest == "" {
				references = append(references, image)
			}
		}
	}
	if slices.Sort(references); len(references) > 0 {
		d.Loader.progress("asking registries for digests")
		draft.Plan.Digests = d.Images.Digests(ctx, slices.Compact(references))
	}
}
