package render

import "github.com/kalypso-io/kalypso/internal/chart/meter"

// Limits of one manifest. A unit of work is roughly a nanosecond or a byte,
// so that the worst template stops after some tens of milliseconds.
const (
	maxWork   = 1 << 24
	maxOutput = 1 << 20        // bytes that a manifest may write
	maxText   = 1 << 18        // bytes of a template
	maxDepth  = meter.MaxDepth // levels of templates within templates, and of values within values

	workPerNode = 50 // a node of the parse tree, executed once
)
