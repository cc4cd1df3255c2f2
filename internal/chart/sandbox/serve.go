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
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// The limits that a process receives, and sets for itself.
const (
	memoryVariable = "KALYPSO_RENDER_MEMORY" // bytes
	probeVariable  = "KALYPSO_RENDER_PROBE"  // set by Probe
	timeVariable   = "KALYPSO_RENDER_TIME"   // of a processor, a duration
)

// spent is what a process says when its processor time is used up.
const spent = "the processor time is used up"

// maxJob is the maximum size of a job.
const maxJob = 256 << 20

// Main renders a chart and ends the process, if args are those with which a [Runner] starts its program; otherwise it returns. A program whose
// runners start itself calls it first, with os.Args[1:].
func Main(args []string) {
	if len(args) != 1 || args[0] != command {
		return
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve limits the process that it runs in, reads a job, renders it, and writes the result.
func serve(in io.Reader, out io.Writer) error {
	if err := confine(); err != nil {
		return fmt.Errorf("confine the process: %w", err)
	}
	var job chart.Job
	if err := json.NewDecoder(io.LimitReader(in, maxJob)).Decode(&job); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	if err := json.NewEncoder(out).Encode(engine.Run(&job, nil)); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// maxStack is the maximum stack of a goroutine, in bytes. The engine's limit on nesting uses a small part of it.
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
	if err := restrict(memory, limit); err != nil {
		return err
	}
	if err := isolate(); err != nil && os.Getenv(probeVariable) != "" {
		return err
	}
	return nil
}
