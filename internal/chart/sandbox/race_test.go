//go:build race

package sandbox_test

// enough is the memory of a process that renders something small; the race detector wants some of it.
const enough = 768 << 20
