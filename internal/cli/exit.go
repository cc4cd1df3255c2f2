package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ExitCode is what the program tells the one who called it.
type ExitCode int

const (
	// ExitDone says that the work is done.
	ExitDone ExitCode = 0
	// ExitFailed says that the work could not be done.
	ExitFailed ExitCode = 1
	// ExitUsage says that the command line makes no sense; nothing was done.
	ExitUsage ExitCode = 2
	// ExitNo says that the work is done and the answer is no:
	// problems were found, changes are pending, a gate did not open.
	ExitNo ExitCode = 3
)

// Failure is how a command ends that does not end well. Every other error ends with [ExitFailed].
type Failure struct {
	Code ExitCode
	// Err says what happened; nil when the output of the command has said it already.
	Err error
	// Next says what to do now; may be empty when err says it.
	Next string
}

// Error says what happened.
func (f *Failure) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit code %d", f.Code)
	}
	return f.Err.Error()
}

// Unwrap is what happened; nil when the output of the command has said it already.
func (f *Failure) Unwrap() error { return f.Err }

// Usage says that a command line makes no sense, and where the help is.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return AsUsage(cmd, fmt.Errorf(format, args...))
}

// AsUsage turns err into one about the command line, unless it says already what it is about.
// What was typed may be a URL with a password in it, which is not repeated.
func AsUsage(cmd *cobra.Command, err error) error {
	var f *Failure
	if errors.As(err, &f) {
		return err
	}
	err = errors.New(secret.Redact(err.Error()))
	return &Failure{ExitUsage, err, fmt.Sprintf("%s --help shows what it takes", cmd.CommandPath())}
}

// Failed adds to an error what to do now.
func Failed(err error, next string) error { return &Failure{ExitFailed, err, next} }

// AnswerNo ends a command whose output has said everything, with the answer no.
func AnswerNo() error { return &Failure{Code: ExitNo} }

// Report shows an error, and returns the exit code it stands for.
func Report(t *terminal.Terminal, err error) ExitCode {
	if err == nil {
		return ExitDone
	}
	if errors.Is(err, context.Canceled) {
		err = Failed(errors.New("interrupted"), "run it again: it starts from what Git says")
	}
	f := &Failure{Code: ExitFailed, Err: err}
	var hinted interface{ Hint() string }
	if !errors.As(err, &f) && errors.As(err, &hinted) {
		f.Next = hinted.Hint()
	}
	if f.Err != nil {
		// The whole chain is shown: f may lie inside err, which says more.
		fmt.Fprintf(t.Err, "%s %s\n", t.ErrStyle.Red("kalypso:"), terminal.PrintableText(err.Error()))
	}
	if f.Next != "" {
		fmt.Fprintf(t.Err, "  %s\n", terminal.PrintableText(f.Next))
	}
	return f.Code
}
