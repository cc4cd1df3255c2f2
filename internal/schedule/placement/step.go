package placement

import "slices"

// Step is a part of a decision. A policy takes the steps in this order, and the first one that does not let a pair through ends it.
type Step string

// Steps of a policy.
const (
	StepSelectors Step = "selectors" // the labels and the workspace
	StepExcluded  Step = "excluded"  // a policy of mode exclude
	StepExclusive Step = "exclusive" // a policy of mode exclusive, for the targets of others
	StepFilters   Step = "filters"   // expressions
	StepFeatures  Step = "features"  // required features
	StepTaints    Step = "taints"    // taints that are not tolerated
	StepExtenders Step = "extenders" // extenders that refuse the pair
	StepScheduler Step = "scheduler" // an external scheduler did not choose the pair
	StepSpread    Step = "spread"    // the skew would be too large
	StepCapacity  Step = "capacity"  // the cluster type is full
	StepScore     Step = "score"     // others have a higher score
	StepDemand    Step = "demand"    // nothing depends on the pair
)

// order are the steps in their order.
var order = []Step{
	StepSelectors, StepExcluded, StepExclusive, StepFilters, StepFeatures, StepTaints, StepExtenders, StepScheduler, StepSpread, StepCapacity,
	StepScore, StepDemand,
}

// Progress orders policies by how far a pair gets: the more, the further. A policy that selects the pair is the furthest.
func Progress(p PolicyReason) int {
	if p.Selects {
		return len(order)
	}
	return slices.Index(order, p.Step)
}

// refusal is why a step does not let a pair through.
type refusal struct {
	step Step
	text string
}
