package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// Everything a person can call says what it does, and shows how.
func TestEveryCommandHasHelpAndAnExample(t *testing.T) {
	t.Parallel()
	walk(newRoot(testTerminal()), func(cmd *cobra.Command) {
		if strings.HasPrefix(cmd.CommandPath(), "kalypso completion") {
			return // cobra's own
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q, want a phrase without a full stop", cmd.CommandPath(), cmd.Short)
		}
		if !strings.Contains(cmd.Example, "  kalypso ") {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no description", cmd.CommandPath(), f.Name)
			}
		})
	})
}

// Run installs a hook there; a second one would replace it.
func TestNoCommandHasAPersistentHook(t *testing.T) {
	t.Parallel()
	walk(newRoot(testTerminal()), func(cmd *cobra.Command) {
		if cmd.PersistentPreRun != nil || cmd.PersistentPreRunE != nil {
			t.Errorf("%s has a persistent hook", cmd.CommandPath())
		}
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	inner := cli.Failed(errors.New("push branch \"dev\": permission denied"), "check the token")
	for _, test := range []struct {
		name string
		err  error
		code cli.ExitCode
		text string
	}{
		{"done", nil, cli.ExitDone, ""},
		{"any error", errors.New("disk full"), cli.ExitFailed, "kalypso: disk full\n"},
		{"with a hint", inner, cli.ExitFailed, "kalypso: push branch \"dev\": permission denied\n  check the token\n"},
		{"wrapped", fmt.Errorf("schedule: %w", inner), cli.ExitFailed, "kalypso: schedule: push branch \"dev\": permission denied\n  check the token\n"},
		{"the answer is no", cli.AnswerNo(), cli.ExitNo, ""},
		{"usage", cli.Usage(&cobra.Command{Use: "plan"}, "which environment?"), cli.ExitUsage, "kalypso: which environment?\n  plan --help shows what it takes\n"},
		{"interrupted", fmt.Errorf("fetch: %w", context.Canceled), cli.ExitFailed, "kalypso: interrupted\n  run it again; it continues from the state in Git\n"},
		{"hostile", errors.New("branch \x1b[2J"), cli.ExitFailed, "kalypso: branch \\x1b[2J\n"},
	} {
		var b strings.Builder
		code := cli.Report(terminal.New(nil, nil, nil, &b), test.err)
		if code != test.code || b.String() != test.text {
			t.Errorf("%s: got %d and %q, want %d and %q", test.name, code, b.String(), test.code, test.text)
		}
	}
}

func TestSourceFlags(t *testing.T) {
	t.Parallel()
	var flags sourceFlags
	cmd := &cobra.Command{Use: "plan"}
	flags.bind(cmd, testTerminal())
	if err := flags.wantEnvironment(cmd); err == nil {
		t.Error("no environment: got no error")
	}
	err := cmd.ParseFlags([]string{"-e", "dev", "--map", "https://a/b=../b", "--map", "git@c:d=/e=f"})
	if err != nil {
		t.Fatal(err)
	}
	if err := flags.wantEnvironment(cmd); err != nil {
		t.Error(err)
	}
	if got, want := fmt.Sprint(flags.maps), "[{https://a/b ../b} {git@c:d /e=f}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, wrong := range []string{"", "x", "=x", "x="} {
		if err := cmd.ParseFlags([]string{"--map", wrong}); err == nil {
			t.Errorf("--map %q: got no error", wrong)
		}
	}
}

func testTerminal() *terminal.Terminal {
	return terminal.New(nil, strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

// TestThePluginOfKubectlSaysItsName: users read how to call the program as they did.
func TestThePluginOfKubectlSaysItsName(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"/usr/local/bin/kubectl-kalypso": "  kubectl kalypso plan -e ENVIRONMENT", "kubectl-kalypso.exe": "  kubectl kalypso plan -e ENVIRONMENT", "bin/kalypso": "  kalypso plan -e ENVIRONMENT",
	} {
		var out, errs strings.Builder
		if code := execute(t.Context(), terminal.New(nil, strings.NewReader(""), &out, &errs), program, []string{"plan", "--help"}); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: code %d\n%s%s", program, code, &out, &errs)
		}
	}
}

// TestRunsShareNothing runs commands in one process as if each had its own: no flag of one is set in the next, and the environment is what it
// is given.
func TestRunsShareNothing(t *testing.T) {
	t.Setenv(backend.EnvLedger, filepath.Join(t.TempDir(), "of-the-process.db"))
	ledger := filepath.Join(t.TempDir(), "ledger.db")
	for i, test := range []struct {
		args, env  []string
		code       cli.ExitCode
		out, wrong string
	}{
		{args: []string{"ledger", "export", "--ledger", ledger}, code: cli.ExitFailed, wrong: "ledger.db"},
		{args: []string{"cluster", "register", "a", "--member", "dev/large", "--ledger", ledger, "-o", "json"}, out: `"cluster": "a"`},
		{args: []string{"cluster", "list"}, code: cli.ExitUsage, wrong: "set --server or KALYPSO_SERVER"},
		{args: []string{"cluster", "list"}, env: []string{backend.EnvLedger + "=" + ledger}, out: "CLUSTER"},
		{args: []string{"cluster", "list", "-o", "json", "--ledger", ledger}, out: `"name": "a"`},
		{args: []string{"cluster", "list", "--ledger", ledger}, env: []string{backend.EnvLedger + "=not-there.db"}, out: "CLUSTER"},
		{args: []string{"cluster", "list", "--help"}, out: "Usage:"},
		{args: []string{"cluster", "list", "--ledger", ledger}, out: "CLUSTER"},
	} {
		var out, wrong strings.Builder
		code := run(t.Context(), test.args, test.env, strings.NewReader(""), &out, &wrong)
		if code != int(test.code) || !strings.Contains(out.String(), test.out) || !strings.Contains(wrong.String(), test.wrong) {
			t.Errorf("%d. kalypso %s: exit code %d, want %d\n%s%s", i+1, strings.Join(test.args, " "), code, test.code, &out, &wrong)
		}
	}
}
