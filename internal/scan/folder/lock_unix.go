//go:build unix && !solaris && !aix

package folder

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock locks a file until it is closed, or the process ends. It reports false when somebody else has locked it.
func lock(file *os.File) (free bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %q: %w", file.Name(), err)
	}
	return true, nil
}
