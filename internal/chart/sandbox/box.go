package sandbox

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// MemoryVariable is the environment variable with the memory of a server and its renderers together, such as 1Gi.
const MemoryVariable = "KALYPSO_MEMORY"

// Box is the memory that a server and its renderers have together: in a container, when it is used up, all of them end.
type Box struct {
	// Memory is in bytes; 0 if it is not known.
	Memory int64
	// From says what limits it.
	From string
}

const (
	// serverPercent and renderPercent are the parts of the memory that the server and all renderers together may use. The rest is for Git programs
	// of the embedded forge, and for what the runtime of Go cannot limit.
	serverPercent, renderPercent = 55, 30
	// usualRender is what a renderer should have at least; leastRender is what it has in any case.
	usualRender = 300 << 20
	leastRender = 160 << 20
)

// FindBox returns the box of this process: the memory that the environment sets, the limit of its control group, or what the machine has.
func FindBox(env map[string]string) (Box, error) {
	if text := env[MemoryVariable]; text != "" {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Value() < 256<<20 {
			return Box{}, fmt.Errorf("%s=%s is not a memory size of 256Mi or more; write it like 1Gi", MemoryVariable, text)
		}
		return Box{q.Value(), MemoryVariable}, nil
	}
	return findBox(os.DirFS("/")), nil
}

func findBox(root fs.FS) Box {
	if limit := groupLimit(root); limit > 0 {
		return Box{limit, "the control group"}
	}
	if memory := machineMemory(root); memory > 0 {
		return Box{memory, "the machine"}
	}
	return Box{}
}

// groupLimit returns the lowest limit of the control groups that this process is in; 0 for none.
func groupLimit(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	lowest := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(parts) < 3 {
			continue
		}
		mount, file := "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		if parts[1] == "" {
			mount, file = "sys/fs/cgroup", "memory.max"
		} else if !slices.Contains(strings.Split(parts[1], ","), "memory") {
			continue
		}
		// In a container, the path may be that of the host, while only the group itself is mounted.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if limit := readNumber(root, path.Join(mount, at, file)); limit > 0 {
				lowest = min(lowest, limit)
			}
			if at == "/" {
				break
			}
		}
	}
	if lowest >= 1<<50 { // version 1 has a large number for no limit
		return 0
	}
	return lowest
}

// readNumber returns the number in a file; 0 for none, such as "max".
func readNumber(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func machineMemory(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// Server is the part of the server; 0 if the box is not known.
func (b Box) Server() int64 { return b.Memory / 100 * serverPercent }

// Fit makes a pool that nothing uses yet fit into the box: fewer processes, and less memory for each.
func (b Box) Fit(p *Pool) {
	if b.Memory == 0 {
		return
	}
	all := b.Memory / 100 * renderPercent
	size := min(max(all/usualRender, 1), int64(p.size()))
	p.Size, p.Limits.Memory = int(size), min(max(all/size, leastRender), defaultMemory)
}

// Apply limits the memory of this process, unless the environment variable of Go does, and returns a line for the log.
func (b Box) Apply(env map[string]string, p *Pool) string {
	limits := (&Runner{Pool: p}).limits()
	server := "as much as it needs"
	switch {
	case env["GOMEMLIMIT"] != "":
		server = "GOMEMLIMIT=" + env["GOMEMLIMIT"]
	case b.Memory > 0:
		debug.SetMemoryLimit(b.Server())
		server = fmt.Sprintf("%d MiB", b.Server()>>20)
	}
	return fmt.Sprintf("memory of %s: %d MiB; server: %s; up to %d renderers: %d MiB each",
		cmp.Or(b.From, "an unknown machine"), b.Memory>>20, server, p.size(), limits.Memory>>20)
}

// processorTime is how long a process may keep processors busy, for a number of targets.
func (l Limits) processorTime(targets int) time.Duration {
	return cmp.Or(l.Processor, defaultProcessor) + time.Duration(targets)*perTarget
}
