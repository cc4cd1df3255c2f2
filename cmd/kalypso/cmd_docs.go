package main

import (
	"fmt"
	"os"

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
	return newGenerator("docs", "Write the reference of the commands to a folder", doc.GenMarkdownTree)
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
