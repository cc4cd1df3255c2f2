package reflock_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/internal/git/reflock"
)

// holding is an environment variable. If set, the test binary locks the file it names and waits to be killed.
const holding = "REFLOCK_HOLDING"

func TestMain(m *testing.M) {
	if file := os.Getenv(holding); file != "" {
		hold(file)
		return
	}
	os.Exit(m.Run())
}

func hold(file string) {
	if _, err := reflock.Take(file); err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("held\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func take(t *testing.T, file string) *reflock.Lock {
	t.Helper()
	lock, err := reflock.Take(file)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func wantHeld(t *testing.T, file string) {
	t.Helper()
	if _, err := reflock.Take(file); !errors.Is(err, reflock.ErrHeld) {
		t.Errorf("the error is %v, want %v", err, reflock.ErrHeld)
	}
}

func release(t *testing.T, lock *reflock.Lock) {
	t.Helper()
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, lock *reflock.Lock, content string) {
	t.Helper()
	if err := lock.Replace(content); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, file, content string) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil || string(got) != content {
		t.Errorf("%s contains %q, want %q: %v", filepath.Base(file), got, content, err)
	}
}

func TestLockHolderReplacesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main")
	lock := take(t, file)
	wantHeld(t, file)
	replace(t, lock, "one\n")
	replace(t, lock, "two\n")
	release(t, lock)
	wantContent(t, file, "two\n")
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	release(t, take(t, file))
}

// The lock of a killed server needs no manual repair.
func TestTheLockOfAProcessThatWasKilledIsTakenOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main")
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holding+"="+file)
	stdin, err := holder.StdinPipe() // open until the process is killed
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	output, _ := bufio.NewReader(stdout).ReadString('\n')
	if output == "held\n" {
		wantHeld(t, file)
	}
	_ = holder.Process.Kill()
	_ = holder.Wait()
	if _, err := os.Stat(file + ".lock"); output != "held\n" || err != nil {
		t.Fatalf("it output %q, and left no lock: %v", output, err)
	}
	lock := take(t, file)
	replace(t, lock, "mine\n")
	wantHeld(t, file)
	release(t, lock)
}

// A git command that left its lock behind may still be running.
func TestTheLockOfGitIsLeftAlone(t *testing.T) {
	for name, content := range map[string]string{"before it is written": "", "after": strings.Repeat("0a", 20) + "\n"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "main")
			if err := os.WriteFile(file+".lock", []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			wantHeld(t, file)
			wantContent(t, file+".lock", content)
		})
	}
}

func TestLockBlocksGit(t *testing.T) {
	folder := t.TempDir()
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=n", "-c", "user.email=e@localhost"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "one"}} {
		if out, err := git(args...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	lock := take(t, filepath.Join(folder, ".git", "refs", "heads", "main"))
	if out, err := git("commit", "-q", "--allow-empty", "-m", "two"); err == nil {
		t.Errorf("git moved a locked branch: %s", out)
	}
	if out, err := git("for-each-ref", "--format=%(refname)"); err != nil || out != "refs/heads/main" {
		t.Errorf("git sees %q: %v", out, err)
	}
	release(t, lock)
	if out, err := git("commit", "-q", "--allow-empty", "-m", "two"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestOneAtATime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	const goroutines, each = 4, 10
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for done := 0; done < each; {
				lock, err := reflock.Take(file)
				if errors.Is(err, reflock.ErrHeld) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := os.ReadFile(file)
				n, _ := strconv.Atoi(string(text))
				if err := errors.Join(lock.Replace(strconv.Itoa(n+1)), lock.Release()); err != nil {
					t.Error(err)
					return
				}
				done++
			}
		})
	}
	all.Wait()
	wantContent(t, file, strconv.Itoa(goroutines*each))
}

// A lock that others constantly take and release exists when linking fails, but not when it is read.
func TestALockThatLeadsNowhereIsHeld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main")
	if err := os.Symlink("nowhere", file+".lock"); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, file)
}
