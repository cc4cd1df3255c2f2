//go:build !linux && !darwin

package wiring

// freeBytes does not know the free space on this system.
func freeBytes(string) (uint64, bool) { return 0, false }
