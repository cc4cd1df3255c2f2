package repository_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// TestLineNamesTheAuthorsOfMerges: who merges a pull request is not the only author of what it brings.
func TestLineNamesTheAuthorsOfMerges(t *testing.T) {
	dir := t.TempDir()
	run := func(person string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME="+person, "GIT_AUTHOR_EMAIL="+person+"@example.com",
			"GIT_COMMITTER_NAME="+person, "GIT_COMMITTER_EMAIL="+person+"@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("anna", "init", "-q", "-b", "main")
	run("anna", "commit", "-q", "--allow-empty", "-m", "begin")
	run("anna", "switch", "-q", "-c", "topic")
	run("ben", "commit", "-q", "--allow-empty", "-m", "one")
	run("carl", "commit", "-q", "--allow-empty", "-m", "two")
	run("anna", "switch", "-q", "main")
	run("dora", "commit", "-q", "--allow-empty", "-m", "beside it")
	run("emma", "merge", "-q", "--no-ff", "-m", "Merge topic", "topic")
	client := &git.Client{CacheDir: t.TempDir()}
	line, err := repository.Lines{Client: client}.Line(t.Context(), schedule.Location{Repo: dir, Branch: "main"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range line {
		got = append(got, c.Subject+": "+strings.Join(c.Authors, " "))
	}
	if diff := cmp.Diff([]string{
		"begin: anna anna@example.com", "beside it: dora dora@example.com",
		"Merge topic: ben ben@example.com carl carl@example.com emma emma@example.com",
	}, got); diff != "" {
		t.Errorf("authors (-want +got):\n%s", diff)
	}
}
