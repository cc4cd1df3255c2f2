// Package serve decides when rounds run: on a timer, and after webhooks and reports.
//
//	poll, with jitter    ┐                    ┌─► environment: its pull request
//	webhooks, verified   ├─► queue, one item  ┼─► preview of a pull request of a control plane
//	reports of clusters  │   each, retried    ├─► chain of a control plane
//	commands of users    ┘                    └─► application: its pull requests and its chain
//
// Rounds are level-triggered. An event only selects what to read; the round acts on what it reads. So lost, late,
// repeated and forged events do no harm, and a thousand events lead to one round. A failed item is retried with growing pauses and
// does not block others.
//
// Several servers on one ledger divide the rounds ([Replicas], package replica), and show what others work on ([Views]).
//
// What a round does is in packages schedule, promote and deliver.
package serve
