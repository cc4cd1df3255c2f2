package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kalypso-io/kalypso/internal/cli"
)

//go:generate go run . docs ../../docs/cli

// newMan generates a manual page for each command. It is for packagers, so it is hidden.
func newMan() *cobra.Command {
	return newGenerator("man", "Write the manual pages to a folder", func(root *cobra.Command, dir string) error {
		date := cli.VersionDate()
		return doc.GenManTree(root, &doc.GenManHeader{
			Title: "KALYPSO", Section: "1", Date: &date,
			Source: "kalypso " + cli.Version(), Manual: "Kalypso",
		}, dir)
	})
}

// newDocs generates the reference of the commands, docs/cli, as Markdown.
func newDocs() *cobra.Command {
	return newGenerator("docs", "Write the reference of the commands to a folder", writeReference)
}

// headings are those of Cobra's pages, whose title is a heading of the second level.
var headings = regexp.MustCompile(`(?m)^##(#*) `)

// writeReference writes a page for a command, and for those below it.
func writeReference(cmd *cobra.Command, dir string) error {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			if err := writeReference(sub, dir); err != nil {
				return err
			}
		}
	}
	var page bytes.Buffer
	if err := doc.GenMarkdown(cmd, &page); err != nil {
		return err
	}
	flags := cmd.NonInheritedFlags()
	grouped := strings.TrimPrefix(cli.FlagsByGroup(flags), "Flags:\n")
	text := strings.Replace(page.String(), "```\n"+flags.FlagUsages()+"```\n", "```\n"+grouped+"```\n", 1)
	text = headings.ReplaceAllString(text, "#$1 ")
	return os.WriteFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "_")+".md"), []byte(text), 0o644)
}

func newGenerator(name, short string, generate func(*cobra.Command, string) error) *cobra.Command {
	return &cobra.Command{
		Use:     name + " DIR",
		Short:   short,
		Example: fmt.Sprintf("  kalypso %s build/%s", name, name),
		Hidden:  true,
		Args:    cli.Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			// The pages have no date, so that the same commands make the same bytes.
			root.DisableAutoGenTag = true
			return generate(root, args[0])
		},
	}
}
