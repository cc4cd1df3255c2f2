//go:build race

package sandbox_test

// enough is the memory of a process that renders something small, including the race detector's.
const enough = 768 << 20
