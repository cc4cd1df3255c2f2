package bundle

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// cores returns the number of goroutines that work in parallel.
func cores() int { return runtime.GOMAXPROCS(0) }

// parallel calls do for every index below n, on all cores. core is the number of the core, from 0 to cores()-1. The
// order of calls is undefined; results must not depend on it.
func parallel(n int, do func(core, i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for core := range min(cores(), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(core, i)
			}
		})
	}
	wait.Wait()
}
