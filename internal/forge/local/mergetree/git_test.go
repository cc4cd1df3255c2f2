package mergetree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitAgrees: what merges here merges in git to the same. We may see more conflicts, never fewer.
func TestGitAgrees(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) (string, error) {
		command := exec.Command("git", args...)
		command.Dir = dir
		command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		output, err := command.Output()
		return strings.TrimSpace(string(output)), err
	}
	if _, err := git("init", "-q", "--bare", "."); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	merged := 0
	for range 60 {
		base := randomText(random)
		ours, theirs := edited(random, base), edited(random, base)
		got, ok := mergeLines(join(base), join(ours), join(theirs))
		for name, text := range map[string][]string{"base": base, "ours": ours, "theirs": theirs} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(join(text)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !ok {
			continue
		}
		merged++
		want, err := git("merge-file", "-p", "ours", "base", "theirs")
		if err != nil || strings.TrimSpace(got) != want {
			t.Errorf("base %q, ours %q, theirs %q: got %q, git says %q, %v", base, ours, theirs, got, want, err)
		}
	}
	if merged < 10 {
		t.Errorf("only %d merged: the test says nothing", merged)
	}
}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func randomText(r *rand.Rand) []string {
	lines := make([]string, 5+r.IntN(20))
	for i := range lines {
		lines[i] = fmt.Sprint("line ", r.IntN(12))
	}
	return lines
}

// edited changes, removes and inserts a few lines.
func edited(r *rand.Rand, lines []string) []string {
	var out []string
	for i, line := range lines {
		switch r.IntN(14) {
		case 0:
			out = append(out, fmt.Sprint("changed ", r.IntN(3)))
		case 1:
		case 2:
			out = append(out, line, fmt.Sprint("inserted ", i))
		default:
			out = append(out, line)
		}
	}
	return out
}
