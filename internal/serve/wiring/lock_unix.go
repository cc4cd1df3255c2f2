//go:build unix

package wiring

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile locks a file until the process ends or unlock is called. It creates the file.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, errors.Join(fmt.Errorf("lock %q: %w", name, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing unlocks it
}
