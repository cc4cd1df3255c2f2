package sandbox

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// However a process ends when it runs out of memory, the message says so.
func TestExplain(t *testing.T) {
	for said, want := range map[string]string{
		"fatal error: runtime: out of memory\n\nruntime stack:\n":                                   "needs more than 1024 MiB",
		"fatal error: runtime: cannot allocate memory\n":                                            "needs more than 1024 MiB",
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n":    "needs more than 1024 MiB",
		"runtime: failed to create new OS thread (have 7 already; errno=11)\n":                      "needs more than 1024 MiB",
		"SIGSEGV: segmentation violation\nPC=0xcb47dd m=10 sigcode=1 addr=0x0\n":                    "needs more than 1024 MiB",
		"runtime: goroutine stack exceeds 268435456-byte limit\nfatal error: stack overflow\n":      "templates call each other without end",
		"panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\n":    "ended early",
		"panic: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0]": "ended early",
	} {
		if err := explain(t.Context(), (&Runner{}).limits(), 1, &exec.ExitError{}, said); !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", said, err, want)
		}
	}
	if err := explain(t.Context(), Limits{}, 1, errors.New("no such file"), ""); !strings.Contains(err.Error(), "start the process") {
		t.Errorf("got %v", err)
	}
}
