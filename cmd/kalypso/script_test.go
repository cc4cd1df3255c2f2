package main

import (
	"errors"
	"flag"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the golden files within the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kalypso": main})
}

// TestScript runs testdata/script/<command>_<scenario>.txtar: the directory listing is the list of features.
// Scripts know one command besides testscript's own:
//
//	exits CODE PROGRAM [ARGS...]    runs a program, and wants exactly this exit code
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               isolate,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// isolate keeps a script from the configuration and the credentials of whoever runs it.
func isolate(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir+"/home")
	env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/home/.cache")
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("GIT_TERMINAL_PROMPT", "0")
	return nil
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGS...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)

	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", args[1], got, want)
	}
}
