package main

import (
	"io"
	"strings"
	"time"
)

// terminal is what a command talks to: the three streams, the environment and the clock.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	// env holds the environment's variables by name.
	env map[string]string
	// outStyle and errStyle are for what is written to out and err.
	outStyle, errStyle style
	now                func() time.Time
}

// newTerminal looks at the streams once: only what goes to a terminal, and is wanted, has style.
func newTerminal(env []string, stdin io.Reader, stdout, stderr io.Writer) *terminal {
	t := &terminal{in: stdin, out: stdout, err: stderr, env: map[string]string{}, now: time.Now}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		t.env[name] = value
	}
	wanted := t.env["NO_COLOR"] == "" && t.env["TERM"] != "dumb"
	t.outStyle = style{on: wanted && isTerminal(stdout)}
	t.errStyle = style{on: wanted && isTerminal(stderr)}
	return t
}

// view is how answers are shown to whoever reads stdout.
func (t *terminal) view() view { return view{style: t.outStyle, now: t.now()} }

// progress starts a line that appears after a second, if stderr is a terminal. The caller ends it.
func (t *terminal) progress() *progress { return startProgress(t.err, t.errStyle) }
