package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// usage is what the server and its children took.
type usage struct {
	memory    int64 // the peak of all together, in bytes
	processor time.Duration
	ready     time.Duration // the longest time until the server said that it is ready
}

// measurement runs while an input is processed.
type measurement struct {
	w      *world
	before time.Duration
	stop   chan struct{}
	done   sync.WaitGroup
	mu     sync.Mutex
	most   usage
}

// interval is how often memory is read.
const interval = 10 * time.Millisecond

func (w *world) measure() *measurement {
	m := &measurement{w: w, stop: make(chan struct{}), before: processor(w.server.Process.Pid)}
	m.done.Go(m.sample)
	m.done.Go(m.ask)
	return m
}

// end returns what was taken since the measurement began.
func (m *measurement) end() usage {
	after := processor(m.w.server.Process.Pid)
	close(m.stop)
	m.done.Wait()
	m.most.processor = max(0, after-m.before)
	return m.most
}

func (m *measurement) sample() {
	for {
		memory := resident(m.w.server.Process.Pid)
		m.mu.Lock()
		m.most.memory = max(m.most.memory, memory)
		m.mu.Unlock()
		select {
		case <-m.stop:
			return
		case <-time.After(interval):
		}
	}
}

// ask asks again and again whether the server is ready.
func (m *measurement) ask() {
	for {
		begun := time.Now()
		answer, err := m.w.client.Get("http://" + m.w.address + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
		}
		took := time.Since(begun)
		if err != nil || answer.StatusCode != http.StatusOK {
			took = max(took, maxReady+1)
		}
		m.mu.Lock()
		m.most.ready = max(m.most.ready, took)
		m.mu.Unlock()
		select {
		case <-m.stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// resident returns the memory of a process and its descendants that is in use, without the pages of the program's file.
func resident(pid int) int64 {
	total, command := anonymous(pid), commandLine(pid)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range tasks {
		text, _ := os.ReadFile(name)
		for _, child := range strings.Fields(string(text)) {
			// Until it runs its program, a child has the memory of its parent, which would count twice.
			if id, err := strconv.Atoi(child); err == nil && commandLine(id) != command {
				total += resident(id)
			}
		}
	}
	return total
}

// commandLine returns the program and the arguments of a process, as its memory has them.
func commandLine(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty if it has ended
	return string(text)
}

// anonymous returns the memory of one process that a container counts: what is not a page of a file.
func anonymous(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var total int64
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name == "RssAnon" || name == "RssShmem" {
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			total += kilobytes << 10
		}
	}
	return total
}

// processor returns how long a process and its children that ended kept processors busy.
func processor(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program is in parentheses, and may have spaces. User and system time are fields 14 to 17.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:15] {
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	const perSecond = 100 // on every Linux system
	return time.Duration(ticks) * time.Second / perSecond
}

// newGroup makes a control group with the limit of the container, if that is possible here.
func newGroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || parts[1] != "memory" && parts[1] != "" {
			continue
		}
		root, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		if parts[1] == "" {
			root, file = "/sys/fs/cgroup", "memory.max"
		}
		for _, above := range []string{parts[2], ""} {
			group := filepath.Join(root, above, fmt.Sprintf("hostile-%d", os.Getpid()))
			if os.Mkdir(group, 0o755) != nil {
				continue
			}
			if os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(limit)), 0o600) == nil {
				return group
			}
			_ = os.Remove(group)
		}
	}
	return ""
}
