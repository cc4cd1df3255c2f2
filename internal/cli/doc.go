// Package cli has what all commands share: arguments, output and exit codes.
//
// A command is a [Group] of others, or takes [Exactly] the arguments that it names. [Output] writes its result to stdout in
// the requested format; everything else is written to stderr. [Failed], [Usage] and [AnswerNo] choose its [ExitCode] and
// the hint that [Report] prints.
package cli
