package sandbox

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitSpent is the status of a process whose processor time is used up.
const exitSpent = 3

// restrict makes the system end the process if it uses too much memory or processor time, and prevents it from
// writing files, including core dumps.
func restrict(memory int64, processor time.Duration) error {
	seconds := uint64(processor.Seconds() + 1)
	for _, l := range []struct {
		resource  int
		soft, max uint64
	}{
		{syscall.RLIMIT_DATA, uint64(memory), uint64(memory)},
		{syscall.RLIMIT_CPU, seconds, seconds + 2},
		{syscall.RLIMIT_FSIZE, 0, 0},
		{syscall.RLIMIT_CORE, 0, 0},
	} {
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.soft, Max: l.max}); err != nil {
			return fmt.Errorf("set resource limit %d: %w", l.resource, err)
		}
	}
	// Go ignores the signal otherwise, and the system kills without a reason two seconds later.
	used := make(chan os.Signal, 1)
	signal.Notify(used, syscall.SIGXCPU)
	go func() {
		<-used
		fmt.Fprintln(os.Stderr, spent)
		os.Exit(exitSpent)
	}()
	return nil
}
