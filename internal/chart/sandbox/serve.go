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

// The limits that a process is told, and puts on itself.
const (
	memoryVariable = "KALYPSO_RENDER_MEMORY" // bytes
	timeVariable   = "KALYPSO_RENDER_TIME"   // a duration
)

// maxJob is the largest job that is read.
const maxJob = 256 << 20

// Serve is the command [Command]: it confines the process that it runs in, reads a job, renders it, and writes the
// result. It is called first thing in that process, and nothing else happens there.
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

// maxStack is the largest stack of a goroutine, in bytes; chart.MaxNesting levels take a small part of it.
const maxStack = 256 << 20

// confine puts the limits on this process. Without any it stays as it is, which is for somebody who tries the command.
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
	debug.SetMemoryLimit(memory / 4 * 3) // collect more often, before there is no more
	return restrict(memory, limit)
}
