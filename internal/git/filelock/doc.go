// Package filelock locks files through the operating system, which releases a lock when its process ends in any way.
//
// Locks are advisory: they block other callers of this package, here or in other processes, but no reads or writes.
package filelock

import "os"

// TryLock locks a file without waiting. The lock ends when the file is closed or the process ends. locked is false
// if the file is locked through another handle, even in this process, and on systems without file locks ([Supported]).
func TryLock(file *os.File) (locked bool, err error) { return tryLock(file) }
