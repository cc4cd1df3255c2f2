//go:build !unix

package verify

import "os/exec"

// inGroup does nothing on systems without process groups: programs that cmd starts may outlive its timeout.
func inGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
