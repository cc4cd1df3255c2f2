// Package cli is what every command has in common: how it takes its arguments, shows its result, and ends.
//
// A command is a [Group] of others, or wants [Exactly] the arguments that it names.
// Its result is one value, which [Output] shows in the format that was asked for, on stdout; everything else goes to stderr.
// It ends with an [ExitCode]: 0 when the work is done, 1 when it failed, 2 when the command line makes no sense, and 3 when
// the work is done and the answer is no. [Failed], [Usage] and [AnswerNo] say which, and what a person does next;
// [Report] shows that.
package cli
