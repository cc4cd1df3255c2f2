package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// Limits are the limits of one process. Zero values mean the defaults.
type Limits struct {
	// Memory is the maximum data size in bytes. It defaults to 1 GiB.
	Memory int64
	// Time is the maximum duration, against hanging. It defaults to 15 minutes: what a process does is limited by
	// its work, since a busy machine must not refuse a chart that others accept.
	Time time.Duration
	// Processor is how long it may keep processors busy, besides a little for each target. It defaults to 7 seconds.
	Processor time.Duration
}

const (
	defaultMemory = 1 << 30
	defaultTime   = 15 * time.Minute

	defaultProcessor = 7 * time.Second
	// perTarget is what the templates of one target may take more: a tenth of what their meter permits.
	perTarget = 100 * time.Millisecond
	// maxCores is the number of cores to use. Each needs threads, and these need memory, so a fixed number makes the limit
	// independent of the machine.
	maxCores = 4
	// maxAnswer is the maximum size of a result.
	maxAnswer = 512 << 20
	// maxStderr is how much of a process's error output is read.
	maxStderr = 64 << 10
)

// command is the name of the command that renders; see [Main].
const command = "render-chart"

// Runner renders jobs in processes with limits. It is safe for concurrent use; each running job is one process.
type Runner struct {
	// Program is the program with the command. It defaults to the running one.
	Program string
	Limits  Limits
	// Pool limits the processes that run at once. Optional.
	Pool *Pool
}

// Render renders a job's targets that are not in previous, an earlier result, which can be nil. It always returns a
// result: targets that could not be rendered have a problem with the reason. The error is that of the context.
func (r *Runner) Render(ctx context.Context, job *chart.Job, previous *chart.Result) (*chart.Result, error) {
	rest, result := job.Rest(previous)
	if len(rest.Targets) > 0 {
		rendered, err := r.halves(ctx, rest)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("render chart: %w", ctx.Err())
		}
		if err != nil {
			result.Fail(err)
			return result, nil
		}
		result.Fill(rendered)
	}
	return result, nil
}

// halves renders a job and, if the process fails, each half of its targets. The error means that all of it failed. A chart that does not come to an
// end is not tried again: it would take as much time for each half.
func (r *Runner) halves(ctx context.Context, job *chart.Job) (*chart.Result, error) {
	result, err := r.process(ctx, job)
	if err == nil || ctx.Err() != nil || len(job.Targets) < 2 || errors.As(err, new(endlessError)) {
		return result, err
	}
	middle := len(job.Targets) / 2
	left, right := *job, *job
	left.Targets, right.Targets = job.Targets[:middle], job.Targets[middle:]
	first, firstErr := r.process(ctx, &left)
	second, secondErr := r.process(ctx, &right)
	switch {
	case firstErr != nil && secondErr != nil:
		return nil, err
	case firstErr != nil:
		first, firstErr = r.rest(ctx, &left, firstErr)
	case secondErr != nil:
		second, secondErr = r.rest(ctx, &right, secondErr)
	}
	return join(failed(&left, first, firstErr), failed(&right, second, secondErr)), nil
}

// rest continues with the failed half, unless it is one target.
func (r *Runner) rest(ctx context.Context, job *chart.Job, err error) (*chart.Result, error) {
	if len(job.Targets) < 2 {
		return nil, err
	}
	return r.halves(ctx, job)
}

// failed returns a result, or an empty result of a job with an error.
func failed(job *chart.Job, result *chart.Result, err error) *chart.Result {
	if err == nil {
		return result
	}
	_, result = job.Rest(nil)
	result.Fail(err)
	return result
}

func join(a, b *chart.Result) *chart.Result {
	return &chart.Result{Targets: append(a.Targets, b.Targets...)}
}

// process renders a job in one process.
func (r *Runner) process(ctx context.Context, job *chart.Job) (*chart.Result, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("write job: %w", err)
	}
	program, err := r.program()
	if err != nil {
		return nil, err
	}
	release, err := r.Pool.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return r.run(ctx, program, text, len(job.Targets))
}

// Probe returns why the processes of a runner can read files and use the network; nil if they cannot.
func (r *Runner) Probe(ctx context.Context) error {
	program, err := r.program()
	if err != nil {
		return err
	}
	process := r.command(ctx, program, 0)
	process.Env = append(process.Env, probeVariable+"=1")
	stderr := &bounded{left: maxStderr, silent: true}
	process.Stdin, process.Stderr = strings.NewReader("{}"), stderr
	if err := process.Run(); err != nil {
		return errors.New(strings.Join(strings.Fields(stderr.String()), " "))
	}
	return nil
}

// program returns the program with the command.
func (r *Runner) program() (string, error) {
	if r.Program != "" {
		return r.Program, nil
	}
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program: %w", err)
	}
	return program, nil
}

// command returns a process for a number of targets.
func (r *Runner) command(ctx context.Context, program string, targets int) *exec.Cmd {
	limits := r.limits()
	process := exec.CommandContext(ctx, program, command)
	process.Env = []string{
		memoryVariable + "=" + strconv.FormatInt(limits.Memory, 10), timeVariable + "=" + limits.processorTime(targets).String(),
		"GOMAXPROCS=" + strconv.Itoa(min(runtime.NumCPU(), maxCores)),
	}
	process.Dir = "/"
	return process
}

// run runs a process with a job, and returns its result.
func (r *Runner) run(ctx context.Context, program string, job []byte, targets int) (*chart.Result, error) {
	limits := r.limits()
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	process := r.command(ctx, program, targets)
	answer, stderr := &bounded{left: maxAnswer}, &bounded{left: maxStderr, silent: true}
	process.Stdin, process.Stdout, process.Stderr = bytes.NewReader(job), answer, stderr
	process.WaitDelay = 5 * time.Second
	if err := process.Run(); err != nil {
		return nil, explain(ctx, limits, targets, err, stderr.String())
	}
	var result chart.Result
	if err := json.Unmarshal(answer.Bytes(), &result); err != nil {
		return nil, fmt.Errorf("read what was rendered: %w", err)
	}
	return &result, nil
}

func (r *Runner) limits() Limits {
	var shared Limits
	if r.Pool != nil {
		shared = r.Pool.Limits
	}
	return Limits{
		Memory: cmp.Or(r.Limits.Memory, shared.Memory, defaultMemory), Time: cmp.Or(r.Limits.Time, shared.Time, defaultTime),
		Processor: cmp.Or(r.Limits.Processor, shared.Processor, defaultProcessor),
	}
}

// endlessError means that a process took more than its time.
type endlessError struct{ *chart.LimitError }

// Unwrap returns the error for other packages.
func (e endlessError) Unwrap() error { return e.LimitError }

func endless(format string, limit time.Duration) error {
	return endlessError{&chart.LimitError{Message: fmt.Sprintf(format, limit)}}
}

// explain returns the reason why a process ended. Its own output may contain values, and is not shown.
func explain(ctx context.Context, limits Limits, targets int, err error, stderr string) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return endless("rendering takes longer than %s: look for templates that do not come to an end", limits.Time)
	case strings.Contains(stderr, spent):
		return endless("rendering takes more than %s of a processor: look for templates that do not come to an end", limits.processorTime(targets))
	case outOfMemory(stderr):
		return &chart.LimitError{Message: fmt.Sprintf("rendering needs more than %d MiB: look for templates that build without end", limits.Memory>>20)}
	case strings.Contains(stderr, "stack exceeds"):
		return &chart.LimitError{Message: "templates call each other without end"}
	case errors.As(err, &exit):
		return fmt.Errorf("the process that renders ended early: %w", err)
	}
	return fmt.Errorf("start the process that renders: %w", err)
}

// outOfMemory reports whether a process ended because it ran out of memory. Its runtime does not always report that:
// it may fail to create a thread or an internal structure, and end as if it had crashed.
func outOfMemory(stderr string) bool {
	return slices.ContainsFunc([]string{
		"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread", "SIGSEGV: segmentation violation\nPC=",
	}, func(sign string) bool { return strings.Contains(stderr, sign) })
}

// bounded buffers written data up to a limit. More is an error, or silently dropped.
type bounded struct {
	bytes.Buffer
	left   int
	silent bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		if !b.silent {
			return 0, errors.New("the answer is too large")
		}
		b.Buffer.Write(p[:b.left])
		b.left = 0
		return len(p), nil
	}
	b.left -= len(p)
	return b.Buffer.Write(p)
}
