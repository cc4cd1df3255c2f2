// Package garbage delays garbage collection in a program that usually ends soon.
//
// A short command would spend a third of its time on collections, the first two before its main function begins. A program that imports this
// package begins without them, because it imports nothing that is initialized late. It collects when it needs more memory than [Spare],
// and with a large heap as usual. The variable GOGC takes precedence.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// Spare is how much memory the program may use, beyond what Go's default allows, before garbage is collected.
	Spare = 128 << 20
	// largeHeap is the live memory from which on garbage is collected as usual.
	largeHeap = 256 << 20
)

// Percentages as in [debug.SetGCPercent]. Go's smallest heap is 4 MiB for the usual one, and proportional to others.
const (
	usual    = 100
	smallest = 4 << 20
	longest  = usual * Spare / smallest
)

var (
	mu      sync.Mutex
	delayed bool
)

func init() { delay() }

// Usual collects garbage as usual from now on. A program that turns out to run for long calls it.
func Usual() {
	mu.Lock()
	defer mu.Unlock()
	if delayed {
		debug.SetGCPercent(usual)
	}
	delayed = false
}

// delay delays the first collection, and each collection decides about the next.
func delay() {
	if os.Getenv("GOGC") != "" {
		return
	}
	delayed = true
	debug.SetGCPercent(longest)
	type collection struct{ _ *byte }
	var ended func(*collection)
	ended = func(c *collection) {
		if next() {
			runtime.SetFinalizer(c, ended) // the next collection finds it again
		}
	}
	runtime.SetFinalizer(&collection{}, ended)
}

// next sets when garbage is collected next, and reports whether that is later than usual.
func next() bool {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	mu.Lock()
	defer mu.Unlock()
	if !delayed || live[0].Value.Kind() != metrics.KindUint64 {
		return false
	}
	p := percent(live[0].Value.Uint64())
	debug.SetGCPercent(p)
	delayed = p != usual
	return delayed
}

// percent returns by how much the live memory may grow until garbage is collected.
func percent(live uint64) int {
	if live >= largeHeap {
		return usual
	}
	return int(min(longest, usual+usual*Spare/max(live, 1)))
}
