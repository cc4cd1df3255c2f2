package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Program is something to run.
type Program struct {
	// Name is what its folder and its log are called.
	Name string // required
	Path string // required
	Args []string
	// Env is added to the little that every program gets: of this process's environment, only the search path.
	Env []string
}

// Process is a program that runs, or ran.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed when it ended
	ended     error         // how, once done is closed
}

// Start starts a program in a folder of its own, which is its home as well. Its output goes to logs/<name>.log,
// after that of earlier programs of this name.
func (l *Lab) Start(program Program) (*Process, error) {
	home, err := l.Folder(program.Name)
	if err != nil {
		return nil, err
	}
	p := &Process{
		name: program.Name, log: filepath.Join(l.logs(), program.Name+".log"),
		cmd: exec.Command(program.Path, program.Args...), done: make(chan struct{}),
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = home, log, log
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}, program.Env...)
	p.cmd.SysProcAttr = diesWithUs()

	started := make(chan error)
	l.spawn <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		p.ended = p.cmd.Wait()
		close(p.done)
	}()
	l.mu.Lock()
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	return p, nil
}

// WaitServing waits until a URL answers with 200.
func (p *Process) WaitServing(ctx context.Context, url string) error {
	return p.WaitReady(ctx, answers(url, ""))
}

// startTime is how long a program may take until it is ready, on a machine that has other things to do as well.
const startTime = 2 * time.Minute

// WaitReady waits until the probe has no error. That the process ends first is an error with the end of its log.
func (p *Process) WaitReady(ctx context.Context, probe func(context.Context) error) error {
	err := Until(ctx, startTime, func(ctx context.Context) error {
		select {
		case <-p.done:
			return Stop(fmt.Errorf("it ended: %v", p.ended))
		default:
			return probe(ctx)
		}
	})
	if err != nil {
		return fmt.Errorf("start %s: %w; its log ends with\n%s", p.name, err, tail(p.log, 10))
	}
	return nil
}

// Stop asks the process to end, as a service manager would, and waits until it has.
// The error is that of a process that did not end well.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	select {
	case <-p.done:
		return p.ended
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("stop %s: it goes on", p.name), p.kill())
	}
}

// Kill ends the process without a word, as a power cut does.
func (p *Process) Kill() error { return p.kill() }

// Log returns what the process has written so far.
func (p *Process) Log() (string, error) {
	content, err := os.ReadFile(p.log)
	return string(content), err
}

// kill ends the process and what it started, and waits for it.
func (p *Process) kill() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// signal is for the whole group of the process. A group that has ended is not an error.
func (p *Process) signal(s syscall.Signal) error {
	err := syscall.Kill(-p.cmd.Process.Pid, s)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end %s: %w", p.name, err)
	}
	return nil
}

// Resident is how much memory the process has, in bytes. It is known on Linux only.
func (p *Process) Resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("read the memory of %s: %w", p.name, err)
	}
	return resident * int64(os.Getpagesize()), nil
}
