package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Scan runs the program of a scan, with the same limits as a verification, and returns how it ended. The program's folder
// contains only the files to scan. A program that is ended by a signal is an error.
//
// A program without a path is looked up by its name in [Runner.Programs].
func (r *Runner) Scan(ctx context.Context, c scan.Command) (scan.Ended, error) {
	program, err := r.find(c.Args)
	if err != nil {
		return scan.Ended{}, err
	}
	dir, err := r.folder()
	if err != nil {
		return scan.Ended{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder that is left does no harm
	files := filepath.Join(dir, "files")
	if err := writeFiles(files, c.Files); err != nil {
		return scan.Ended{}, fmt.Errorf("write the files to look at: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, min(c.Timeout, longest))
	defer cancel()
	args := c.In(files)
	args[0] = program
	state, output, err := r.execute(ctx, dir, args, nil)
	if err == nil && state.ExitCode() < 0 {
		err = fmt.Errorf("%s ended with %s%s", filepath.Base(program), state, lastLine(output))
	}
	if err != nil {
		return scan.Ended{Output: output}, err
	}
	return scan.Ended{Code: state.ExitCode(), Output: output}, nil
}

// find returns the full path of an allowed program.
func (r *Runner) find(args []string) (string, error) {
	if len(args) == 0 || args[0] == "" {
		return "", errors.New("the command is empty; name a program")
	}
	name := args[0]
	if r.Any {
		return Locate(name)
	}
	i := slices.IndexFunc(r.Programs, func(p string) bool {
		return filepath.IsAbs(p) && (p == name || !strings.ContainsAny(name, `/\`) && filepath.Base(p) == name)
	})
	if i < 0 {
		return "", fmt.Errorf("%w: %q is none that the server's operator lists in verify.programs", scan.ErrNotAllowed, secret.Scrub(name))
	}
	return r.Programs[i], nil
}

// Locate returns the full path of a program that the user of this process names: a path, or a name in PATH.
func Locate(name string) (string, error) {
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find the program %q: %s", secret.Scrub(name), secret.Scrub(err.Error()))
	}
	return filepath.Abs(found)
}

// writeFiles writes files to a folder. It refuses paths that leave the folder.
func writeFiles(folder string, files []chart.File) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	for _, f := range files {
		if f.Symlink {
			continue
		}
		at := filepath.FromSlash(f.Path)
		if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(at, f.Content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
