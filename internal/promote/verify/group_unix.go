//go:build unix

package verify

import (
	"os/exec"
	"syscall"
)

// inGroup starts a program in a process group of its own, which ends as a whole.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		endGroup(cmd)
		return nil
	}
}

// endGroup ends everything that a program started, itself included.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
