//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Supported reports whether the system has locks that end with their process.
const Supported = true

func tryLock(file *os.File) (locked bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %q: %w", file.Name(), err)
	}
	return true, nil
}
