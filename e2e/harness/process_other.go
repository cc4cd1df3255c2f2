//go:build !linux

package harness

import "syscall"

// diesWithUs puts a process into a group of its own, which [Lab.Close] kills.
// Only Linux would kill it as well when the test itself is killed.
func diesWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
