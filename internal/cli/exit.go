package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ExitCode is the exit code of the program.
type ExitCode int

const (
	// ExitDone means success.
	ExitDone ExitCode = 0
	// ExitFailed means that the command failed.
	ExitFailed ExitCode = 1
	// ExitUsage means that the command line is invalid. Nothing was done.
	ExitUsage ExitCode = 2
	// ExitNo means that the command succeeded with a negative result: problems were found, changes are pending, or a
	// gate did not open.
	ExitNo ExitCode = 3
)

// ExitCodes are all exit codes of all commands, with their meanings.
func ExitCodes() []ExitMeaning {
	return []ExitMeaning{
		{ExitDone, "the command succeeded, or a watch was ended"},
		{ExitFailed, "the command failed; the message says what to do next. A saved plan that cannot be read, or was changed, fails"},
		{ExitUsage, "the command line is invalid; nothing was done"},
		{ExitNo, "the answer is no: there are problems, changes are pending, a gate did not open, or a saved plan is out of date"},
	}
}

// ExitMeaning is what an exit code means.
type ExitMeaning struct {
	Code    ExitCode
	Meaning string
}

// ExitCodesText is [ExitCodes] as an indented table.
func ExitCodesText() string {
	var b strings.Builder
	for _, e := range ExitCodes() {
		fmt.Fprintf(&b, "    %d   %s\n", e.Code, e.Meaning)
	}
	return b.String()
}

// ExitCodesTopic returns the help topic "exit-codes".
func ExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "What the exit codes of commands mean",
		Long:    "All commands have these exit codes:\n\n" + ExitCodesText(),
		Example: "  kalypso help exit-codes",
	}
}

// Failure is an error with an exit code. Every other error has [ExitFailed].
type Failure struct {
	Code ExitCode
	// Err is nil if the output of the command contains the reason.
	Err error
	// Next is what the user can do; optional.
	Next string
}

// Error returns the message of Err.
func (f *Failure) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit code %d", f.Code)
	}
	return f.Err.Error()
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// Usage returns an error for an invalid command line, with a reference to the help.
func Usage(cmd *cobra.Command, format string, args ...any) error {
	return AsUsage(cmd, fmt.Errorf(format, args...))
}

// AsUsage makes err an error for an invalid command line, unless it is a [Failure]. It removes credentials.
func AsUsage(cmd *cobra.Command, err error) error {
	var f *Failure
	if errors.As(err, &f) {
		return err
	}
	if f := unknownFlag(cmd, err); f != nil {
		return f
	}
	err = errors.New(secret.Redact(err.Error()))
	return &Failure{ExitUsage, err, fmt.Sprintf("%s --help shows what it takes", cmd.CommandPath())}
}

// Failed adds to an error what the user can do.
func Failed(err error, next string) error { return &Failure{ExitFailed, err, next} }

// AnswerNo returns an error with [ExitNo] and no message.
func AnswerNo() error { return &Failure{Code: ExitNo} }

// Report prints an error, and returns its exit code.
func Report(t *terminal.Terminal, err error) ExitCode {
	if err == nil {
		return ExitDone
	}
	if errors.Is(err, context.Canceled) {
		err = Failed(errors.New("interrupted"), "run it again; it continues from the state in Git")
	}
	f := &Failure{Code: ExitFailed, Err: err}
	var hinted interface{ Hint() string }
	if !errors.As(err, &f) && errors.As(err, &hinted) {
		f.Next = hinted.Hint()
	}
	if f.Err != nil {
		// err may wrap f, and has the complete message.
		fmt.Fprintf(t.Err, "%s %s\n", t.ErrStyle.Red("kalypso:"), terminal.PrintableText(err.Error()))
	}
	if f.Next != "" {
		fmt.Fprintf(t.Err, "  %s\n", terminal.PrintableText(f.Next))
	}
	return f.Code
}

// Prepare sets what all programs have in common: their streams, and errors that [Execute] prints.
func Prepare(root *cobra.Command, t *terminal.Terminal) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	root.SetFlagErrorFunc(AsUsage)
	root.SetUsageFunc(usage)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
}

// Execute runs a command line, prints its error, and returns the exit code.
func Execute(ctx context.Context, t *terminal.Terminal, root *cobra.Command, args []string) ExitCode {
	root.SetArgs(args)
	// Cobra has no type for usage errors: they are the errors before a command starts.
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }

	cmd, err := root.ExecuteContextC(ctx)
	switch lost, answer := t.Lost(), (&Failure{}); {
	case lost != nil && (err == nil || !started || errors.As(err, &answer) && answer.Err == nil):
		err = Failed(fmt.Errorf("write the output: %w", lost), "the output is incomplete: free some space, and run the command again")
	case err != nil && !started:
		err = AsUsage(cmd, err)
	}
	return Report(t, err)
}
