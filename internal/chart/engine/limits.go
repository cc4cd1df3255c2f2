package engine

// The limits of rendering, besides those of a chart's files.
const (
	// maxOutput is the maximum size of the manifests of one target, in bytes.
	maxOutput = 32 << 20
	// maxWork limits the work of templates for one target: each run of a loop body or template costs
	// the length of its text in bytes, and a little more. It allows a million runs of a short loop.
	maxWork = 32 << 20
	// maxListing limits the work of templates for finding the values that avoid random results, in the units of
	// maxWork. What is not found within it is reported without a value.
	maxListing = 8 << 20
	// maxValues limits the work of functions for one target, in units of roughly a nanosecond. See package meter.
	maxValues = 1 << 29
	// maxValue is how much one of them may build.
	maxValue = 1 << 25
	// maxCalls is the maximum depth of nested template calls.
	maxCalls = 500
)
