package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/simulation"
)

// narrate says how the clusters are doing, whenever that is another thing than before.
func (c *runCommand) narrate(ctx context.Context, s *simulation.Simulation) {
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if text := summary(s.Clusters()); text != last {
				last = text
				fmt.Fprintf(c.out, "%s  %s\n", now.Format(time.TimeOnly), text)
			}
		}
	}
}

// summary counts clusters by how they are doing, and quotes one of those whose reports are not taken.
func summary(all []simulation.Overview) string {
	ready, failed, offline, problem := 0, 0, 0, ""
	for _, o := range all {
		switch {
		case o.Behaviour.Mode == simulation.Offline:
			offline++
		case o.Ready() == len(o.Reconcilers):
			ready++
		case o.Failed() > 0:
			failed++
		}
		if o.Problem != "" && problem == "" {
			problem = fmt.Sprintf("%s cannot report: %s", o.Name, o.Problem)
		}
	}
	parts := []string{fmt.Sprintf("%d of %d clusters ready", ready, len(all))}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", failed))
	}
	if offline > 0 {
		parts = append(parts, fmt.Sprintf("%d offline", offline))
	}
	if rest := len(all) - ready - failed - offline; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d on their way", rest))
	}
	if problem != "" {
		parts = append(parts, problem)
	}
	return strings.Join(parts, ", ")
}
