// Package filelock locks files for the operating system, which lets go of a lock when the process that has it ends, however it does.
//
// A lock keeps out whoever asks for it, here or in another process, and nobody else: it does not keep anybody from reading or writing.
package filelock

import "os"

// TryLock locks a file until it is closed, or the process ends, and does not wait. It reports false when somebody else has locked it, by
// another opening of the file also in this process, and on systems without such locks ([Supported]).
func TryLock(file *os.File) (locked bool, err error) { return tryLock(file) }
