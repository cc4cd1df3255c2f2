package main

import (
	"embed"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/terminal"
)

// appExample are the example application and the example services: their sources, and their configuration by environment.
//
//go:embed all:scaffold/app all:scaffold/services
var appExample embed.FS

//go:embed scaffold/app-configs.md
var configsReadme []byte

func newInitApp(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "app DIR",
		Short: "Write the source of an application: a chart, its targets, and how commits get to them",
		Long: `Write the source of an application: a small program, its chart, its deployment targets, and how commits get to them.

DIR becomes a Git repository. It must be new, or an empty folder.
The configuration is expected beside it, in DIR-configs; "kalypso init config" writes that.`,
		Example: `  kalypso init app hello-world-app
  kalypso init app hello-world-app --url https://github.com/org/hello-world-app`,
		Args: exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			next := []string{
				"kalypso init config " + terminal.ShellWord(args[0]+"-configs"), "kalypso app render -e dev --source " + terminal.ShellWord(args[0]),
			}
			return c.example(cmd, args[0], "repository of an application", "app", next)
		},
	}
	c.bind(cmd)
	return cmd
}

func newInitServices(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	cmd := &cobra.Command{
		Use:   "services DIR",
		Short: "Write the source of platform services: pointers to charts of others",
		Long: `Write the source of platform services: pointers to charts of others, and where they should run.

DIR becomes a Git repository. It must be new, or an empty folder.
The configuration is expected beside it, in DIR-configs; "kalypso init config --services" writes that.`,
		Example: `  kalypso init services platform-services`,
		Args:    exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			next := []string{
				"kalypso init config --services " + terminal.ShellWord(args[0]+"-configs"), "kalypso app render -e dev --source " + terminal.ShellWord(args[0]),
			}
			return c.example(cmd, args[0], "services repository", "services", next)
		},
	}
	c.bind(cmd)
	return cmd
}

func newInitConfig(t *terminal.Terminal) *cobra.Command {
	c := &initCommand{t: t}
	services := false
	cmd := &cobra.Command{
		Use:   "config DIR",
		Short: "Write the configuration of an application: the branches dev and stage",
		Long: `Write the configuration of an application: a branch for each environment, with the values of its targets.

DIR becomes a Git repository. It must be new, or an empty folder.
Values are laid over each other from the root of the branch down to the folder of a target.`,
		Example: `  kalypso init config hello-world-app-configs
  kalypso init config --services platform-services-configs`,
		Args: exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			example := "app"
			if services {
				example = "services"
			}
			return c.configuration(cmd, args[0], example)
		},
	}
	c.bind(cmd)
	cmd.Flags().BoolVar(&services, "services", false, "the configuration of the example services instead")
	return cmd
}

// example writes the source of an example.
func (c *initCommand) example(cmd *cobra.Command, dir, what, name string, next []string) error {
	if err := checkURL(c.url); err != nil {
		return usage(cmd, "--url: %w", err)
	}
	files, err := exampleFiles(name, "source")
	if err != nil {
		return err
	}
	return c.create(cmd.Context(), dir, what, []branch{{"main", files}}, next)
}

// configuration writes the configuration of an example.
func (c *initCommand) configuration(cmd *cobra.Command, dir, name string) error {
	if err := checkURL(c.url); err != nil {
		return usage(cmd, "--url: %w", err)
	}
	var branches []branch
	for _, environment := range []string{"dev", "stage"} {
		files, err := exampleFiles(name, path.Join("configs", environment))
		if err != nil {
			return err
		}
		files["README.md"] = configsReadme
		branches = append(branches, branch{environment, files})
	}
	source := strings.TrimSuffix(filepath.Clean(dir), "-configs")
	return c.create(cmd.Context(), dir, "repository with configuration", branches, []string{"kalypso app render -e dev --source " + terminal.ShellWord(source)})
}

// exampleFiles are those of a folder of an example. Files of Go end in .txt, or they would belong to this program.
func exampleFiles(name, folder string) (map[string][]byte, error) {
	example, err := fs.Sub(appExample, path.Join("scaffold", name))
	if err != nil {
		return nil, err
	}
	files, err := readFiles(example, folder)
	renamed := make(map[string][]byte, len(files))
	for at, content := range files {
		renamed[strings.TrimSuffix(at, ".txt")] = content
	}
	return renamed, err
}
