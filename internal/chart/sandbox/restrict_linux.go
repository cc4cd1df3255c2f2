package sandbox

import (
	"fmt"
	"syscall"
	"time"
)

// restrict makes the system end the process if it uses too much memory or CPU time, and prevents it from
// writing files, including core dumps.
func restrict(memory int64, limit time.Duration) error {
	// All cores may be busy the whole time.
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
