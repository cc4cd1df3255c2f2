package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTutorial plays docs/tutorial.md: every command of its console blocks, one after the other in one shell,
// and compares what they print with what it says they print.
func TestTutorial(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	listen, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	steps := consoleSteps(unhurried.Replace(strings.ReplaceAll(string(text), "127.0.0.1:8080", listen)))
	if len(steps) < 30 {
		t.Fatalf("only %d commands found in the tutorial", len(steps))
	}
	env := storyEnvironment(t)
	shell := newShell(t, dir, env)
	up := ""
	for _, s := range steps {
		if args, ok := strings.CutPrefix(s.command, "kalypso sample up"); ok {
			up = startSampleUp(t, dir, env, append(strings.Fields(args), "--listen", listen)...)
			continue
		}
		begun := time.Now()
		got, code := shell.do(s.command)
		t.Logf("%5.1f s  $ %s", time.Since(begun).Seconds(), s.command)
		if code != 0 {
			log, _ := os.ReadFile(filepath.Join(dir, "kalypso-sample", "server.log"))
			t.Fatalf("$ %s\nexit code %d\n%s\nThe log of the server:\n%s", s.command, code, got, log)
		}
		if s.output != "" && !printed(s.output).MatchString(normal(got)) {
			t.Errorf("$ %s\nprints\n%s\nand the tutorial says\n%s", s.command, got, s.output)
		}
	}
	if up == "" {
		t.Error("the tutorial starts no sample")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left after the tutorial: %v, %v", left, err)
	}
}

// unhurried gives commands that wait more time, on a machine that has much else to do.
var unhurried = strings.NewReplacer(
	"--timeout 1m", "--timeout 5m", "$ kalypso sample merge", "$ kalypso sample merge --timeout 5m",
	"$ kalypso sample greeting", "$ kalypso sample greeting --timeout 5m",
)

// storyEnvironment keeps programs from the configuration and the credentials of the user who runs the test.
func storyEnvironment(t *testing.T) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "HTTPS_PROXY=" + scriptProxy, "NO_COLOR=1",
	}
}

// startSampleUp runs "kalypso sample up" until the test ends, with clusters that hurry, and returns what it says when it has begun.
func startSampleUp(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("kalypso", append([]string{"sample", "up", "--poll", "200ms", "--delay", "200ms"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string)
	go func() {
		text := ""
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			text += scanner.Text() + "\n"
			if strings.Contains(text, "removes it.") {
				break
			}
		}
		said <- text
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("kalypso sample up: %v", err)
		}
	})
	text := <-said // also when the program ends
	if !strings.Contains(text, "started the sample") {
		t.Fatalf("kalypso sample up says only %q", text)
	}
	return text
}

// shell is a shell that people type into: what one command exports, the next one has.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func newShell(t *testing.T, dir string, env []string) *shell {
	t.Helper()
	cmd := exec.Command("sh")
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() }) // what it was told is what counts
	return &shell{t, in, bufio.NewReader(out)}
}

// do runs a command and returns what it prints, and how it ends.
func (s *shell) do(command string) (text string, code int) {
	s.t.Helper()
	const mark = "--- the end of a command ---"
	fmt.Fprintf(s.in, "{ %s\n} </dev/null 2>&1; code=$?; echo; echo \"%s $code\"\n", command, mark)
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("$ %s: %v\n%s", command, err, text)
		}
		if end, ok := strings.CutPrefix(line, mark); ok {
			_, err := fmt.Sscan(end, &code)
			if err != nil {
				s.t.Fatal(err)
			}
			return strings.TrimSuffix(text, "\n"), code
		}
		text += line
	}
}

var spaces = regexp.MustCompile(` +`)

// normal is a text without what differs from run to run: ids of commits, and the widths of columns.
func normal(text string) string {
	return spaces.ReplaceAllString(commitID.ReplaceAllString(text, "#######"), " ")
}

// printed matches what a page says that a command prints: "..." stands for anything, alone on a line for any lines.
func printed(says string) *regexp.Regexp {
	pattern := ""
	for line := range strings.Lines(normal(says)) {
		if line == "...\n" {
			pattern += `(?:.*\n)*?`
			continue
		}
		pattern += strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), `\.\.\.`, `.*`) + ` *\n`
	}
	return regexp.MustCompile(`^` + pattern + `$`)
}
