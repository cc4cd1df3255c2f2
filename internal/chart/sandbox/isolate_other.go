//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"fmt"
	"runtime"
)

// isolate does nothing on this system.
func isolate() error {
	return fmt.Errorf("there are no seccomp filters for %s on %s", runtime.GOARCH, runtime.GOOS)
}
