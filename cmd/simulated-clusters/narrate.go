package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// narrate says how the clusters are doing, whenever that is another thing than before.
func (c *runCommand) narrate(ctx context.Context, s *simulate.Simulation) {
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
func summary(all []simulate.Overview) string {
	ready, failed, offline, problem := 0, 0, 0, ""
	reconcilers, good := 0, 0
	for _, o := range all {
		reconcilers, good = reconcilers+len(o.Reconcilers), good+o.Ready()
		switch {
		case o.Behaviour.Mode == simulate.Offline:
			offline++
		case o.Ready() == len(o.Reconcilers):
			ready++
		case o.Failed() > 0:
			failed++
		}
		if o.Problem != "" && problem == "" {
			problem = fmt.Sprintf("; %s cannot report: %s", o.Name, o.Problem)
		}
	}
	text := fmt.Sprintf("%d of %d clusters ready", ready, len(all))
	for _, rest := range []struct {
		n  int
		is string
	}{{failed, "with failures"}, {offline, "offline"}, {len(all) - ready - failed - offline, "on their way"}} {
		if rest.n > 0 {
			text += fmt.Sprintf(", %d %s", rest.n, rest.is)
		}
	}
	return text + fmt.Sprintf("; %d of %d reconcilers ready", good, reconcilers) + problem
}
