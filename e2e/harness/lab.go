package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Lab is a folder of this machine in which programs run. It has their data and logs, and ends them.
type Lab struct {
	dir   string
	spawn chan func()

	mu        sync.Mutex
	processes []*Process
}

// NewLab creates a lab in the folder for temporary files.
func NewLab() (*Lab, error) {
	dir, err := os.MkdirTemp("", "kalypso-e2e-")
	if err != nil {
		return nil, fmt.Errorf("create a lab: %w", err)
	}
	l := &Lab{dir: dir, spawn: make(chan func())}
	go l.spawner()
	return l, os.MkdirAll(l.logs(), 0o755)
}

// spawner starts all processes from one thread, which lasts as long as the lab:
// they are killed when the thread that started them ends, and Go ends threads when it likes.
func (l *Lab) spawner() {
	runtime.LockOSThread()
	for start := range l.spawn {
		start()
	}
}

// Dir is the lab's folder.
func (l *Lab) Dir() string { return l.dir }

// Folder returns a folder for the files of something.
func (l *Lab) Folder(name ...string) (string, error) {
	dir := filepath.Join(append([]string{l.dir}, name...)...)
	return dir, os.MkdirAll(dir, 0o755)
}

func (l *Lab) logs() string { return filepath.Join(l.dir, "logs") }

// QuoteLogs prints the end of each log, for machines whose files are gone when people look.
func (l *Lab) QuoteLogs(out io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.processes {
		fmt.Fprintf(out, "\n--- the end of %s\n%s", p.log, tail(p.log, 20))
	}
}

// Close kills what still runs, what was started last first, and removes the folder. When keep is set, the folder stays.
// The data are thrown away anyhow, so processes are killed: an orderly end takes etcd's clients many seconds.
func (l *Lab) Close(keep bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var problems []error
	for _, p := range slices.Backward(l.processes) {
		problems = append(problems, p.kill())
	}
	close(l.spawn)
	if !keep {
		problems = append(problems, os.RemoveAll(l.dir))
	}
	return errors.Join(problems...)
}

// tail is the end of a file, indented.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "    " + err.Error() + "\n"
	}
	all := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return "    " + strings.Join(all[max(0, len(all)-lines):], "\n    ") + "\n"
}
