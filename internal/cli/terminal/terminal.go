package terminal

import (
	"io"
	"strings"
	"time"
)

// Terminal has the standard streams, the environment and the clock of a command.
type Terminal struct {
	In io.Reader
	// Out is for results, Err for everything else.
	Out, Err io.Writer
	// Env holds the environment variables by name.
	Env map[string]string
	// OutStyle and ErrStyle are for what is written to Out and Err.
	OutStyle, ErrStyle Style
	// Now returns the time, in the time zone of the machine.
	Now func() time.Time
}

// New returns a terminal. Streams that are terminals have style, unless the environment disables colors.
// env holds entries of the form "NAME=value".
func New(env []string, stdin io.Reader, stdout, stderr io.Writer) *Terminal {
	t := &Terminal{In: stdin, Out: stdout, Err: stderr, Env: map[string]string{}, Now: time.Now}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		t.Env[name] = value
	}
	wanted := t.Env["NO_COLOR"] == "" && t.Env["TERM"] != "dumb"
	t.OutStyle = Style{On: wanted && IsTerminal(stdout)}
	t.ErrStyle = Style{On: wanted && IsTerminal(stderr)}
	return t
}

// Progress starts a line that appears after a second if stderr is a terminal. The caller must end it.
func (t *Terminal) Progress() *Progress { return startProgress(t.Err, t.ErrStyle) }
