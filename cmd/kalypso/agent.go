package main

import (
	"net"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/cluster"
)

// watched is a watcher as the agent knows clusters.
type watched struct{ *cluster.Watcher }

var _ agent.Cluster = watched{}

// Snapshot returns what all reconcilers say now.
func (w watched) Snapshot() agent.Snapshot { return agent.Snapshot(w.Watcher.Snapshot()) }

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
