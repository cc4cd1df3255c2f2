//go:build unix

package verify

import (
	"os/exec"
	"syscall"
)

// inGroup starts a program in its own process group, which is ended as a whole.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		endGroup(cmd)
		return nil
	}
}

// endGroup ends a program and everything that it started.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
