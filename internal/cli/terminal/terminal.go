package terminal

import (
	"io"
	"strings"
	"sync"
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

	out *output
}

// New returns a terminal. Streams that are terminals have style, unless the environment disables colors.
// env holds entries of the form "NAME=value".
func New(env []string, stdin io.Reader, stdout, stderr io.Writer) *Terminal {
	out := &output{to: stdout}
	t := &Terminal{In: stdin, Out: out, Err: stderr, Env: map[string]string{}, Now: time.Now, out: out}
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

// Lost returns the error of the first write to Out that failed, such as that of a full disk; nil if Out has everything. Commands
// need not check each write.
func (t *Terminal) Lost() error {
	if t.out == nil {
		return nil
	}
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	return t.out.err
}

// output remembers the first error of a writer.
type output struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}
