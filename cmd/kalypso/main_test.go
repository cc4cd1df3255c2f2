package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestShortCommandCollectsNoGarbage keeps the start of a command cheap: most of it is the initialization of packages, which would otherwise
// start three collections.
func TestShortCommandCollectsNoGarbage(t *testing.T) {
	cmd := exec.Command("kalypso", "--version")
	cmd.Env = append(cmd.Environ(), "GODEBUG=gctrace=1", "GOGC=")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "gc 1 ") {
		t.Errorf("kalypso --version: %v\n%s", err, out)
	}
}
