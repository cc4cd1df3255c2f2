// Package serve keeps the fleets of control planes scheduled, as one process.
//
//	poll, with jitter ┐                    ┌─► round of an environment: its one living change
//	webhooks          ├─► queue, one item  ┼─► preview on a change of a control plane
//	(verified)        │   each, retried    ├─► chain of a control plane: its commits go on
//	reports           ┘                    └─► application: its changes, and the chain that its commits go along
//
// Everything is level-triggered. An event only says where to look; what is done is decided by what is there then,
// so that lost, late, repeated and forged events do no harm, and a thousand of them become one round.
// An item that fails is tried again with growing pauses and stands in nobody's way.
//
// The package is a shell: it decides when, and leaves what to packages scheduling, promoting and delivery.
package serve
