package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
)

// TestReadme runs the console blocks of the README, one after the other in one folder,
// and compares what they print with what the README says they print.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, err := exec.LookPath("kalypso")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "kalypso")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "examples", "hello-fleet"), hellofleet.Files()); err != nil {
		t.Fatal(err)
	}
	steps := consoleSteps(string(text))
	if len(steps) < 5 {
		t.Fatalf("only %d commands found in the README", len(steps))
	}
	env := storyEnvironment(t)
	for _, s := range steps {
		if s.command == "make build" {
			continue // the test has built the program
		}
		shell := exec.Command("sh", "-c", s.command)
		shell.Dir, shell.Env = dir, env
		got, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.command, err, got)
		}
		if diff := cmp.Diff(s.output, string(got)); s.output != "" && diff != "" {
			t.Errorf("$ %s (-README +program):\n%s", s.command, diff)
		}
	}
}

// step is a command of a console block and the output below it; empty where the page shows none.
// A command that ends with <<EOF goes on to a line EOF.
type step struct{ command, output string }

func consoleSteps(text string) []step {
	var steps []step
	inside, document := false, false
	for line := range strings.Lines(text) {
		switch command, isCommand := strings.CutPrefix(line, "$ "); {
		case document:
			steps[len(steps)-1].command += "\n" + strings.TrimSuffix(line, "\n")
			document = line != "EOF\n"
		case strings.HasPrefix(line, "```"):
			inside = line == "```console\n"
		case inside && isCommand:
			steps = append(steps, step{command: strings.TrimSuffix(command, "\n")})
			document = strings.Contains(command, "<<EOF")
		case inside && len(steps) > 0:
			steps[len(steps)-1].output += line
		}
	}
	return steps
}
