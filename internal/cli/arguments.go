package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-io/kalypso/internal/text/nearest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Group makes cmd a command with subcommands only. Without one it shows its help; an unknown one is an error.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return UnknownWord(cmd, args[0])
	}
	return cmd
}

// UnknownWord returns the error for an unknown subcommand, with a suggestion.
func UnknownWord(cmd *cobra.Command, word string) error {
	err := fmt.Errorf("%s has no command %q", cmd.CommandPath(), word)
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if near := nearest.Beginning(word, names); near != "" {
		return &Failure{ExitUsage, err, fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), near)}
	}
	return &Failure{ExitUsage, err, "there is: " + strings.Join(names, ", ")}
}

// unknownFlag makes an error about an unknown flag a [Failure] with a suggestion; nil if it is another error, or no flag is similar.
func unknownFlag(cmd *cobra.Command, err error) *Failure {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return nil
	}
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	near := nearest.Beginning(unknown.GetSpecifiedName(), names)
	if near == "" {
		return nil
	}
	return &Failure{ExitUsage, fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), secret.Redact(unknown.GetSpecifiedName())), "did you mean --" + near + "?"}
}

// Help returns a help command that fails for an unknown topic, unlike cobra's.
func Help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  kalypso help init control-plane",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return UnknownWord(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// Exactly requires the named arguments.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return Usage(cmd, "%s is missing", strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return unexpected(cmd, args[len(names)])
		}
		for i, name := range names {
			if args[i] == "" { // such as an unset variable of a script
				return Usage(cmd, "%s is empty", name)
			}
		}
		return nil
	}
}

// nameOfEnvironment is a word that can be the name of an environment.
var nameOfEnvironment = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// unexpected returns the error for one argument too many. It suggests the flag for the environment, which users often forget.
func unexpected(cmd *cobra.Command, word string) error {
	if f := cmd.Flags().Lookup("environment"); f != nil && f.Shorthand == "e" && !f.Changed && nameOfEnvironment.MatchString(word) {
		return &Failure{ExitUsage, fmt.Errorf("unexpected argument %q", word), "did you mean -e " + word + "?"}
	}
	return Usage(cmd, "unexpected argument %q", word)
}

// AtMost accepts up to the named arguments, none of them empty.
func AtMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return Exactly(names[:min(len(args), len(names))]...)(cmd, args)
	}
}
