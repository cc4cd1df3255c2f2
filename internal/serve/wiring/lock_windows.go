package wiring

import (
	"errors"
	"fmt"
	"syscall"
)

// lockFile opens a file that no other process can open until this one ends or unlock is called. It creates the file.
func lockFile(name string) (unlock func(), err error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	const (
		notShared        = 0
		sharingViolation = syscall.Errno(32)
	)
	f, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, notShared, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		if errors.Is(err, sharingViolation) {
			err = errLocked
		}
		return nil, fmt.Errorf("lock %q: %w", name, err)
	}
	return func() { _ = syscall.CloseHandle(f) }, nil // the process ends
}
