package sandbox

import (
	"fmt"
	"syscall"
	"time"
)

// restrict lets the system end the process when it has too much data or computes for too long, and keeps it from
// writing files, core dumps included.
func restrict(memory int64, limit time.Duration) error {
	// Every core may compute all the time.
	seconds := uint64(limit.Seconds()+1) * 8
	for _, l := range []struct {
		resource int
		value    uint64
	}{
		{syscall.RLIMIT_DATA, uint64(memory)},
		{syscall.RLIMIT_CPU, seconds},
		{syscall.RLIMIT_FSIZE, 0},
		{syscall.RLIMIT_CORE, 0},
	} {
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return fmt.Errorf("set resource limit %d: %w", l.resource, err)
		}
	}
	return nil
}
