package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Arguments and values of flags that can be files or folders, by their names in the help.
var (
	fileArgument = regexp.MustCompile(`FILE|DIR|FOLDER|REPOSITORY|ARTIFACT`)
	fileValue    = regexp.MustCompile(`(?i)file|folder|path|copy|url|gitops|address`)
)

// completeNoFiles makes a shell offer no file names where neither a file nor a folder is meant, for a command and all below it.
func completeNoFiles(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() && !takesFiles(cmd.Use) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	names := func(f *pflag.Flag) {
		value, _ := pflag.UnquoteUsage(f)
		if _, known := cmd.GetFlagCompletionFunc(f.Name); known || len(f.Annotations) > 0 && isFile(f) || value == "" || fileValue.MatchString(value) {
			return
		}
		completeFlag(cmd, f.Name, cobra.NoFileCompletions)
	}
	cmd.LocalNonPersistentFlags().VisitAll(names)
	cmd.PersistentFlags().VisitAll(names)
	for _, one := range cmd.Commands() {
		completeNoFiles(one)
	}
}

// isFile reports whether a flag is marked as the name of a file or folder.
func isFile(f *pflag.Flag) bool {
	return f.Annotations[cobra.BashCompFilenameExt] != nil || f.Annotations[cobra.BashCompSubdirsInDir] != nil
}

// takesFiles reports whether a usage line has an argument that is a file or folder. Flags and their values are not arguments.
func takesFiles(use string) bool {
	value := false
	for _, word := range strings.Fields(use)[1:] {
		flag := strings.HasPrefix(strings.TrimLeft(word, "[("), "-")
		if !flag && !value && fileArgument.MatchString(word) {
			return true
		}
		value = flag && !strings.ContainsAny(word, "])")
	}
	return false
}
