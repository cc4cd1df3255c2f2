package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// defaultPath is the default of Runner.Path.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// afterwards limits how long to wait for output after the program has ended, if a program that it started keeps running.
const afterwards = 5 * time.Second

// Variables returns the environment variables of a program, in addition to PATH, HOME and TMPDIR, which is its own empty folder:
// the environment, the promoted commit, the verified commit of the GitOps branch, and the ring if the environment has rings.
func Variables(check decide.RunCheck) []string {
	environment, stage := decide.SplitRing(check.Environment)
	all := []string{
		"KALYPSO_ENVIRONMENT=" + environment,
		"KALYPSO_COMMIT=" + check.Source,
		"KALYPSO_REVISION=" + check.Revision,
	}
	if stage != "" {
		all = append(all, "KALYPSO_RING="+fleet.RingOfStage(stage))
	}
	return all
}

// runProgram runs a program and returns an error unless its exit code is 0.
func (r *Runner) runProgram(ctx context.Context, args []string, check decide.RunCheck) (output string, err error) {
	if len(args) == 0 || args[0] == "" {
		return "", errors.New("the command is empty; name a program")
	}
	if !slices.Contains(r.Programs, args[0]) {
		return "", fmt.Errorf("the program %q is not one that the server allows; its operator can add it to verify.commands", secret.Scrub(args[0]))
	}
	program := args[0]
	if !filepath.IsAbs(program) {
		return "", fmt.Errorf("the program %q is relative, and there is no folder that it could be relative to; name it by its whole path", program)
	}
	dir, err := r.folder()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder that is left does no harm
	ended, output, err := r.execute(ctx, dir, append([]string{program}, args[1:]...), Variables(check))
	if err == nil && !ended.Success() {
		err = fmt.Errorf("%s ended with %s%s", filepath.Base(program), ended, lastLine(output))
	}
	return output, err
}

// folder creates an empty folder for one program.
func (r *Runner) folder() (string, error) {
	dir, err := os.MkdirTemp(r.Temp, "kalypso-verify-")
	if err != nil {
		return "", fmt.Errorf("make a folder to run in: %w", err)
	}
	return dir, nil
}

// execute runs a program in a folder, with variables in addition to the common ones, and returns how it ended.
// It returns an error if the program could not be started, or was interrupted.
func (r *Runner) execute(ctx context.Context, dir string, args, variables []string) (ended *os.ProcessState, output string, err error) {
	name := filepath.Base(args[0])
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(variables), r.variables(dir)...)
	inGroup(cmd)
	output, err = run(cmd)
	var exit *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, output, fmt.Errorf("%s did not end in time", name)
	case ctx.Err() != nil:
		return nil, output, ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return nil, output, fmt.Errorf("run %s: %s", name, secret.Scrub(err.Error()))
	}
	return cmd.ProcessState, output, nil
}

// variables returns the environment variables that every program has.
func (r *Runner) variables(dir string) []string {
	return []string{"PATH=" + cmp.Or(r.Path, defaultPath), "HOME=" + dir, "TMPDIR=" + dir}
}

// run runs a program and then ends all programs that it started. It creates its own pipe so that it can wait
// for the program and for the end of the output separately.
func run(cmd *exec.Cmd) (output string, err error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer reader.Close() //nolint:errcheck // everything was read
	cmd.Stdout, cmd.Stderr = writer, writer
	err = cmd.Start()
	_ = writer.Close() // the program has its own copy
	if err != nil {
		return "", err
	}
	tail, done := &tail{}, make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(tail, reader)
	}()
	err = cmd.Wait()
	endGroup(cmd)
	_ = reader.SetReadDeadline(time.Now().Add(afterwards)) // a program that left the group may keep it open
	<-done
	return tail.String(), err
}

func lastLine(output string) string {
	if i := strings.LastIndexByte(output, '\n'); i >= 0 {
		output = output[i+1:]
	}
	if output == "" {
		return ""
	}
	return ": " + secret.Scrub(output)
}

// tail is a writer that keeps the end of the output.
type tail struct {
	text []byte
	cut  bool
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if over := len(p) - maxOutput; over > 0 {
		t.text, p, t.cut = nil, p[over:], true
	}
	if over := len(t.text) + len(p) - maxOutput; over > 0 {
		t.text, t.cut = bytes.Clone(t.text[over:]), true
	}
	t.text = append(t.text, p...)
	return n, nil
}

func (t *tail) String() string {
	return clean(t.text, t.cut)
}
