package main

import (
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
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

// isTerminal reports whether a person watches w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of the terminal behind w; 80 when nobody knows.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// style paints text. The zero value paints nothing.
type style struct{ on bool }

func (s style) bold(text string) string   { return s.paint("1", text) }
func (s style) dim(text string) string    { return s.paint("2", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
