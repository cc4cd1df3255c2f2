//go:build unix && !solaris && !aix

package reflock

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file until it is closed or the process ends. It reports false when somebody else has locked it.
func tryLock(file *os.File) (free bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
