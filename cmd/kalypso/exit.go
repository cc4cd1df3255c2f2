package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/secret"
	"github.com/kalypso-io/kalypso/internal/terminal"
)

// exitCode is what the program tells the one who called it.
type exitCode int

const (
	// exitDone says that the work is done.
	exitDone exitCode = 0
	// exitFailed says that the work could not be done.
	exitFailed exitCode = 1
	// exitUsage says that the command line makes no sense; nothing was done.
	exitUsage exitCode = 2
	// exitNo says that the work is done and the answer is no:
	// problems were found, changes are pending, a gate did not open.
	exitNo exitCode = 3
)

// failure is how a command ends that does not end well. Every other error ends with [exitFailed].
type failure struct {
	code exitCode
	// err says what happened; nil when the output of the command has said it already.
	err error
	// next says what to do now; may be empty when err says it.
	next string
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// usage says that a command line makes no sense, and where the help is.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return asUsage(cmd, fmt.Errorf(format, args...))
}

// asUsage turns err into one about the command line, unless it says already what it is about.
// What was typed may be a URL with a password in it, which is not repeated.
func asUsage(cmd *cobra.Command, err error) error {
	var f *failure
	if errors.As(err, &f) {
		return err
	}
	err = errors.New(secret.Redact(err.Error()))
	return &failure{exitUsage, err, fmt.Sprintf("%s --help shows what it takes", cmd.CommandPath())}
}

// failed adds to an error what to do now.
func failed(err error, next string) error { return &failure{exitFailed, err, next} }

// answerNo ends a command whose output has said everything, with the answer no.
func answerNo() error { return &failure{code: exitNo} }

// report shows an error, and returns the exit code it stands for.
func report(t *terminal.Terminal, err error) exitCode {
	if err == nil {
		return exitDone
	}
	if errors.Is(err, context.Canceled) {
		err = failed(errors.New("interrupted"), "run it again: it starts from what Git says")
	}
	f := &failure{code: exitFailed, err: err}
	errors.As(err, &f)
	if f.err != nil {
		// The whole chain is shown: f may lie inside err, which says more.
		fmt.Fprintf(t.Err, "%s %s\n", t.ErrStyle.Red("kalypso:"), terminal.PrintableText(err.Error()))
	}
	if f.next != "" {
		fmt.Fprintf(t.Err, "  %s\n", terminal.PrintableText(f.next))
	}
	return f.code
}
