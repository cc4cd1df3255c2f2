package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// The limits that a process receives, and sets for itself.
const (
	memoryVariable = "KALYPSO_RENDER_MEMORY" // bytes
	timeVariable   = "KALYPSO_RENDER_TIME"   // a duration
)

// maxJob is the maximum size of a job.
const maxJob = 256 << 20

// Serve is the command [Command]: it limits the process that it runs in, reads a job, renders it, and writes the
// result. Call it first in that process, and do nothing else there.
func Serve(in io.Reader, out io.Writer) error {
	if err := confine(); err != nil {
		return fmt.Errorf("confine the process: %w", err)
	}
	var job chart.Job
	if err := json.NewDecoder(io.LimitReader(in, maxJob)).Decode(&job); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	if err := json.NewEncoder(out).Encode(job.Run(nil)); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// maxStack is the maximum stack of a goroutine, in bytes. chart.MaxNesting levels use a small part of it.
const maxStack = 256 << 20

// confine limits this process. It does nothing without the variables, which is useful for trying the command by hand.
func confine() error {
	debug.SetMaxStack(maxStack)
	memory, err := strconv.ParseInt(os.Getenv(memoryVariable), 10, 64)
	if err != nil {
		return nil
	}
	limit, err := time.ParseDuration(os.Getenv(timeVariable))
	if err != nil {
		return fmt.Errorf("read %s: %w", timeVariable, err)
	}
	debug.SetMemoryLimit(memory / 4 * 3) // collect garbage more often before memory runs out
	return restrict(memory, limit)
}
