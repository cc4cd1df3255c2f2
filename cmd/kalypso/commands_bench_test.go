//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
)

// BenchmarkCommands runs commands as processes on a fleet in Git repositories, one for each workload. COMMANDS_FLEET sets its size.
// cpu-s is the processor time of the command, rss-MB its peak of resident memory.
func BenchmarkCommands(b *testing.B) {
	spec := largefleet.Spec{Targets: 100, ClusterTypes: 20}
	if size := os.Getenv("COMMANDS_FLEET"); size != "" {
		if _, err := fmt.Sscanf(size, "%dx%d", &spec.Targets, &spec.ClusterTypes); err != nil {
			b.Fatalf("COMMANDS_FLEET=%q is not a size such as 1000x100", size)
		}
	}
	files := largefleet.Generate(spec)
	dir := b.TempDir()
	controlPlane, gitOps := filepath.Join(dir, "control-plane"), filepath.Join(dir, "platform-gitops")
	importBranch(b, controlPlane, "main", files.Main)
	importBranch(b, controlPlane, "dev", files.Env)
	importBranch(b, gitOps, "main", map[string]string{"README.md": "files of all environments\n"})
	for name, workload := range files.Workloads {
		importBranch(b, filepath.Join(dir, "apps", name), "main", workload)
	}
	schedule := []string{"schedule", "--control-plane", controlPlane, "-e", "dev", "--commit"}
	plan := []string{"plan", "--control-plane", controlPlane, "-e", "dev"}

	b.Run("schedule everything", func(b *testing.B) {
		for b.Loop() {
			measureCommand(b, schedule...)
			runGit(b, gitOps, nil, "update-ref", "-d", "refs/heads/kalypso/dev")
		}
	})
	measureCommand(b, schedule...)
	runGit(b, gitOps, nil, "branch", "-f", "dev", "kalypso/dev")
	b.Run("plan without changes", func(b *testing.B) { benchCommand(b, plan) })
	importBranch(b, controlPlane, "dev", files.ChangeValue().Env)
	b.Run("plan of one value", func(b *testing.B) { benchCommand(b, plan) })
}

func benchCommand(b *testing.B, args []string) {
	for b.Loop() {
		measureCommand(b, args...)
	}
}

// measureCommand runs kalypso with arguments, and reports what it needed.
func measureCommand(b *testing.B, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "kalypso", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %s", err, stderr.String())
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
	b.ReportMetric(float64(usage.Maxrss)/1024, "rss-MB")
}

// importBranch makes a branch of a repository have exactly these files.
func importBranch(b *testing.B, dir, branch string, files map[string]string) {
	b.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		b.Fatal(err)
	}
	runGit(b, dir, nil, "init", "-q", "-b", "main")
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter A <a@example.com> %d +0000\ndata 1\nx\n", branch, time.Now().Unix())
	for path, content := range files {
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	runGit(b, dir, strings.NewReader(stream.String()), "fast-import", "--quiet", "--force")
}

func runGit(b *testing.B, dir string, stdin *strings.Reader, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "git", append([]string{"-C", dir}, args...)...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v: %s", args, err, out)
	}
}
