package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/importer/orchestration"
)

func newImport(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:     "import",
		Short:   "Convert files of other systems into repositories",
		Long:    "Convert files of other systems into repositories for Kalypso.",
		Example: "  kalypso import workload-orchestration ./templates --out shop",
	})
	cmd.AddCommand(newImportOrchestration(t))
	return cmd
}

// importCommand is "kalypso import workload-orchestration".
type importCommand struct {
	t       *terminal.Terminal
	output  *cli.Output
	out     string
	options orchestration.Options
}

// imported is the result of the command.
type imported struct {
	// Files are the files that were written, below the folder.
	Files []string `json:"files"`
	// Problems are what could not be turned.
	Problems []fleet.Problem `json:"problems"`
}

func newImportOrchestration(t *terminal.Terminal) *cobra.Command {
	c := &importCommand{t: t}
	cmd := &cobra.Command{
		Use:   "workload-orchestration FOLDER --out FOLDER",
		Short: "Convert files of Azure's workload orchestration into an application and its configuration",
		Long: `Convert files of Azure's workload orchestration into an application's source and configuration:

    schemas                      source/config/schema.yaml, with edit rights and rules
    configuration templates      configs/values.yaml and configs/values.cel.yaml, with expressions in CEL
    hierarchies, targets         folders of configs, and the targets of source/workload/workload.yaml
    solution specifications      the chart in source/workload/delivery.yaml

It reads the YAML and JSON files of the folder and everything below it, and recognizes them by their keys. The files of one solution become
one application. What has no counterpart is left out, and listed with file and line. Files that exist are not overwritten.

It exits with 3 if something was left out or cannot be read, and if the result has no targets or no chart.`,
		Example: `  kalypso import workload-orchestration ./templates --out shop --name shop -e dev`,
		Args:    cli.Exactly("FOLDER"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.out, "out", "", "write to this `folder`")
	flags.StringVar(&c.options.Name, "name", "", "the `name` of the application (default: that of the folder)")
	flags.StringVarP(&c.options.Environment, "environment", "e", "dev", "the `name` of the environment of the targets")
	_ = cmd.MarkFlagDirname("out") // the error only says that the flag does not exist
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(imported{})
	return cmd
}

func (c *importCommand) run(cmd *cobra.Command, folder string) error {
	if c.out == "" {
		return cli.Usage(cmd, "where to? name a folder, as in --out shop")
	}
	if c.options.Name == "" {
		c.options.Name = filepath.Base(filepath.Clean(c.out))
	}
	for flag, name := range map[string]string{"--name": c.options.Name, "--environment": c.options.Environment} {
		if name == "" || len(name) > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Trim(name, "-") != name {
			return cli.Usage(cmd, "%q is not a name of lower-case letters, digits and dashes: give %s", name, flag)
		}
	}
	files, err := orchestrationFiles(folder)
	if err != nil {
		return err
	}
	result := orchestration.Convert(files, c.options)
	if err := c.write(cmd.Context(), result.Files); err != nil {
		return err
	}
	r := imported{Files: slices.Sorted(maps.Keys(result.Files)), Problems: append([]fleet.Problem{}, result.Problems...)}
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	if slices.ContainsFunc(r.Problems, func(p fleet.Problem) bool { return p.Severity != fleet.SeverityNotice }) {
		return cli.AnswerNo()
	}
	return nil
}

// maxImported is the maximum number of files that are read.
const maxImported = 1000

// orchestrationFiles reads the YAML and JSON files of a folder.
func orchestrationFiles(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && name != ".":
			return fs.SkipDir
		case !e.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name))):
			return nil
		case len(files) == maxImported:
			return fmt.Errorf("%s has more than %d files; name a folder with those of one solution", folder, maxImported)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		files[name], err = io.ReadAll(io.LimitReader(f, values.MaxSize+1))
		return err
	})
	if err == nil && len(files) == 0 {
		err = cli.Failed(fmt.Errorf("%s has no YAML or JSON files", folder), "name the folder with the templates and schemas")
	}
	return files, err
}

// write writes the files, if none of them exists.
func (c *importCommand) write(ctx context.Context, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := os.Lstat(filepath.Join(c.out, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = cli.Failed(fmt.Errorf("%s exists in %s", name, c.out), "name another folder with --out")
			}
			return err
		}
	}
	if err := os.MkdirAll(c.out, 0o777); err != nil {
		return err
	}
	return git.WriteFolder(ctx, c.out, files, nil)
}

// show lists the files and what was left out.
func (c *importCommand) show(w io.Writer, r imported) error {
	for _, file := range r.Files {
		fmt.Fprintf(w, "wrote %s\n", terminal.Printable(filepath.Join(c.out, filepath.FromSlash(file))))
	}
	if len(r.Problems) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := &terminal.Table{}
	for _, p := range r.Problems {
		t.Row(output.SeverityCell(c.t.OutStyle, p.Severity), terminal.Plain(output.WithPosition(output.Message(p), p.Position)))
	}
	return t.Write(w)
}
