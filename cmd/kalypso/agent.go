package main

import (
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// watched is a watcher as the agent knows clusters.
type watched struct{ *reconciler.Watcher }

var _ agent.Cluster = watched{}

// Snapshot returns what all reconcilers say now.
func (w watched) Snapshot() agent.Snapshot { return agent.Snapshot(w.Watcher.Snapshot()) }
