//go:build !race

package sandbox_test

// enough is the memory of a process that renders something small.
const enough = 192 << 20
