package connect_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// realForge is a real forge with a throw-away account. Commits are pushed with git.
type realForge struct {
	forge forge.Forge  // required
	token forge.Secret // required
	// repository is a URL. New repositories are created beside it, named like it, and deleted in the end.
	repository string // required

	folders map[string]string
	counter int64
}

// harness returns the forge to run the rules against.
func (r *realForge) harness(*testing.T) forgetest.Harness {
	if r.folders == nil {
		r.folders, r.counter = map[string]string{}, time.Now().UnixNano()
	}
	return forgetest.Harness{Forge: r.forge, NewRepository: r.newRepository, Commit: r.commit, Remote: true, Eventually: forgetest.Eventually}
}

func (r *realForge) newRepository(t *testing.T) string {
	t.Helper()
	beside, err := r.forge.Repository(r.repository)
	if err != nil {
		t.Fatal(err)
	}
	creator, ok := r.forge.(forge.Creator)
	if !ok {
		t.Fatal("the forge cannot create repositories")
	}
	r.counter++
	name := fmt.Sprintf("%s-%d", beside.ID().Name(), r.counter)
	created, err := creator.CreateRepository(t.Context(), forge.NewRepository{Owner: beside.ID().Owner(), Name: name, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if remover, ok := created.(forge.Remover); ok {
			if err := remover.Remove(context.WithoutCancel(t.Context())); err != nil {
				t.Logf("delete %s by hand: %v", name, err)
			}
		}
	})
	url := r.repository[:strings.LastIndexByte(strings.TrimSuffix(r.repository, "/"), '/')+1] + name
	folder := t.TempDir()
	r.folders[url] = folder
	r.git(t, folder, "init", "-q", "-b", "main")
	r.git(t, folder, "remote", "add", "origin", url)
	r.commit(t, url, "main")
	return url
}

// commit adds a file on a branch, and pushes it.
func (r *realForge) commit(t *testing.T, url, branch string) string {
	t.Helper()
	folder := r.folders[url]
	if r.git(t, folder, "branch", "--list", branch) == "" && branch != "main" {
		r.git(t, folder, "branch", branch, "main")
	}
	if branch != "main" || r.git(t, folder, "branch", "--list", "main") != "" {
		r.git(t, folder, "checkout", "-q", branch)
	}
	r.counter++
	if err := os.WriteFile(filepath.Join(folder, fmt.Sprint("file-", r.counter)), []byte("a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git(t, folder, "add", ".")
	r.git(t, folder, "commit", "-q", "-m", "change")
	r.git(t, folder, "push", "-q", "origin", branch)
	return r.git(t, folder, "rev-parse", "HEAD")
}

// git runs git. The token is in its environment, not in its arguments, which other users of the machine can read.
func (r *realForge) git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder}, args...)...)
	credential := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + r.token.Reveal()))
	command.Env = append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Kalypso", "GIT_AUTHOR_EMAIL=kalypso@example.com", "GIT_COMMITTER_NAME=Kalypso", "GIT_COMMITTER_EMAIL=kalypso@example.com",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+credential,
	)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, strings.ReplaceAll(string(out), r.token.Reveal(), "***"))
	}
	return strings.TrimSpace(string(out))
}
