package harness

import "syscall"

// diesWithUs puts a process into a group of its own, and has the kernel kill it when the test ends in whatever way.
func diesWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
