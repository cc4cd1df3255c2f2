// Command large-fleet writes a generated fleet of any size to a folder,
// to try the kalypso command on something large.
//
// Each repository becomes a folder, and each of its branches a folder in that:
//
//	DIR/control-plane/main/...      DIR/apps/app-000/main/...
//	DIR/control-plane/dev/...       DIR/apps/app-001/main/...
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "large-fleet:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	var spec largefleet.Spec
	var dir string
	flags := flag.NewFlagSet("large-fleet", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&spec.Targets, "targets", 100, "number of deployment targets")
	flags.IntVar(&spec.ClusterTypes, "cluster-types", 20, "number of cluster types; every target is assigned to each")
	flags.IntVar(&spec.Layers, "layers", 20, "configuration layers that apply to each assignment")
	flags.StringVar(&dir, "out", "", "`folder` to write to; it must not exist or be empty")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if err := check(spec, dir); err != nil {
		return err
	}
	if err := write(dir, largefleet.Generate(spec)); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d targets on %d cluster types are %d assignments; try\n\n  kalypso schedule --control-plane %s -e dev --out %s\n",
		spec.Targets, spec.ClusterTypes, spec.Targets*spec.ClusterTypes,
		filepath.Join(dir, "control-plane"), filepath.Join(dir, "scheduled"))
	return nil
}

func check(spec largefleet.Spec, dir string) error {
	if min(spec.Targets, spec.ClusterTypes, spec.Layers) < 1 {
		return errors.New("sizes count from 1")
	}
	if dir == "" {
		return errors.New("name the folder to write to with -out DIR")
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder %q is not empty: name another one, or empty it first", dir)
	}
	return nil
}

func write(dir string, f largefleet.Files) error {
	branches := map[string]map[string]string{
		filepath.Join("control-plane", "main"):        f.Main,
		filepath.Join("control-plane", f.Environment): f.Env,
	}
	for registration, files := range f.Workloads {
		branches[filepath.Join("apps", registration, "main")] = files
	}
	for branch, files := range branches {
		for path, content := range files {
			if err := writeFile(filepath.Join(dir, branch, filepath.FromSlash(path)), content); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}
