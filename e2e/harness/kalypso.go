package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Kalypso is the program under test, with the environment of a user.
type Kalypso struct {
	lab  *Lab
	path string
	env  []string
}

// Result is how a command ended.
type Result struct {
	Stdout, Stderr string
	Code           int
	// Processor is the processor time that it took on all cores, which other programs do not stretch.
	Processor time.Duration
}

// BuildKalypso builds the program, the agent and the operator from the sources in a folder.
func BuildKalypso(ctx context.Context, lab *Lab, sources string) (*Kalypso, error) {
	bin, err := lab.Folder("bin")
	if err != nil {
		return nil, err
	}
	k := &Kalypso{lab: lab, path: bin + "/kalypso"}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin+"/", "./cmd/kalypso", "./cmd/kalypso-agent", "./cmd/kalypso-operator")
	cmd.Dir = sources
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in releases
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build kalypso: %w\n%s", err, out)
	}
	return k, nil
}

// With returns the program with more variables in its environment, such as "KALYPSO_GIT_TOKEN=...".
func (k *Kalypso) With(env ...string) *Kalypso {
	more := *k
	more.env = append(append([]string{}, k.env...), env...)
	return &more
}

// At returns the programs of the same names in another folder.
func (k *Kalypso) At(folder string) *Kalypso {
	other := *k
	other.path = filepath.Join(folder, filepath.Base(k.path))
	return &other
}

// Agent returns the program that reports a cluster.
func (k *Kalypso) Agent() *Kalypso {
	agent := *k
	agent.path += "-agent"
	return &agent
}

// Operator returns the program that schedules ControlPlane objects.
func (k *Kalypso) Operator() *Kalypso {
	operator := *k
	operator.path += "-operator"
	return &operator
}

// Run runs a command to its end. Only that it could not be run at all is an error.
func (k *Kalypso) Run(ctx context.Context, args ...string) (Result, error) {
	home, err := k.lab.Folder("kalypso")
	if err != nil {
		return Result{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, k.path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, &stdout, &stderr
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, k.env...)
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, fmt.Errorf("run %s %s: %w", filepath.Base(k.path), args[0], err)
	}
	return Result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), ProcessorTime(cmd)}, nil
}

// ProcessorTime is what a program that has ended took of all cores.
func ProcessorTime(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// Start starts a command that goes on, such as serve.
func (k *Kalypso) Start(name string, args ...string) (*Process, error) {
	return k.lab.Start(Program{Name: name, Path: k.path, Args: args, Env: k.env})
}
