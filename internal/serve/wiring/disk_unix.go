//go:build linux || darwin

package wiring

import "syscall"

// freeBytes returns the space that this process can use on the disk of a folder; false if it is unknown.
func freeBytes(dir string) (uint64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Bsize < 0 {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
