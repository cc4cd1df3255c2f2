package local

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// client is a git client with a token.
type client struct {
	*testing.T
	dir, url string
}

// newClient returns a client with a right on a repository, in an empty folder.
func newClient(t *testing.T, r *Repository, right Right) *client {
	t.Helper()
	token := ""
	if right != "" {
		secret, _, err := r.forge.CreateToken(t.Context(), "test", Account{Name: "dev-" + string(right), Right: right})
		if err != nil {
			t.Fatal(err)
		}
		token = secret.Reveal()
	}
	url := r.forge.site.URL() + "/" + r.id.Path + ".git"
	return &client{t, t.TempDir(), strings.Replace(url, "http://", "http://dev:"+token+"@", 1)}
}

// try runs git and returns its output.
func (c *client) try(args ...string) (string, error) {
	command := exec.Command("git", args...)
	command.Dir = c.dir
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.com", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@example.com",
	}
	output, err := command.CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

func (c *client) run(args ...string) string {
	c.Helper()
	output, err := c.try(args...)
	if err != nil {
		c.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// clone clones the repository. Later commands run in the clone.
func (c *client) clone() *client {
	c.Helper()
	c.run("clone", "-q", c.url, "work")
	c.dir = filepath.Join(c.dir, "work")
	return c
}

// commit makes a commit with a file and returns it.
func (c *client) commit(file, text string) string {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	c.run("add", file)
	c.run("commit", "-qm", "Write "+file)
	return c.run("rev-parse", "HEAD")
}

func TestPushAndFetch(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	var seen []forge.Event
	defer f.Subscribe(func(e forge.Event) { seen = append(seen, e) })()
	c := newClient(t, r, Write).clone()
	c.run("switch", "-qc", "feature")
	head := c.commit("shop.txt", "open\n")
	c.run("push", "-q", "origin", "feature")
	if len(seen) != 1 || seen[0].Branch != "feature" || seen[0].Commit != head || seen[0].Sender != "dev-write" {
		t.Errorf("got events %+v", seen)
	}
	change, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature", Base: "main", Title: "Open the shop"})
	if err != nil {
		t.Fatal(err)
	}
	head = c.commit("shop.txt", "closed\n")
	c.run("push", "-q", "origin", "feature")
	if got := read(t, r, change.Number); got.Head.Commit != head {
		t.Errorf("head is %s, want %s", got.Head.Commit, head)
	}
	c.run("push", "-q", "origin", ":feature", "HEAD:refs/tags/v1")
	c.run("fetch", "-q", "origin", change.Fetch)
	if got := c.run("rev-parse", "FETCH_HEAD"); got != head {
		t.Errorf("fetched %s, want %s", got, head)
	}
	if got := read(t, r, change.Number); got.State != forge.Open || got.Head.Commit != head {
		t.Errorf("after its branch was deleted: %+v", got)
	}
	if last := seen[len(seen)-1]; last.Kind != forge.EventPush || last.Branch != "feature" || last.Commit != "" {
		t.Errorf("the deletion is published as %+v", last)
	}
	merged, err := r.MergePullRequest(t.Context(), change.Number, forge.Merge{Head: head})
	if err != nil {
		t.Fatal(err)
	}
	c.run("fetch", "-q", "origin", "main")
	if got := c.run("rev-parse", "FETCH_HEAD"); got != merged {
		t.Errorf("main is %s, want %s", got, merged)
	}
	if got := c.run("show", "FETCH_HEAD:shop.txt"); got != "closed" {
		t.Errorf("merged %q", got)
	}
	c.run("fsck", "--strict")
}

func read(t testing.TB, r *Repository, number int) forge.PullRequest {
	t.Helper()
	c, err := r.PullRequest(context.Background(), number)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPushAndFetchPermissions(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	public := newRepository(t, f)
	created, err := f.CreateRepository(t.Context(), forge.NewRepository{Owner: "team", Name: "private", Private: true})
	if err != nil {
		t.Fatal(err)
	}
	private := created.(*Repository)
	commit(t, private, "main", nil)
	for name, tc := range map[string]struct {
		repository *Repository
		right      Right
		fetch      bool
		push       string // git's message; empty if allowed
	}{
		"anonymous, public":  {public, "", true, "Authentication failed"},
		"reader, public":     {public, Read, true, "needs the right write"},
		"writer, public":     {public, Write, true, ""},
		"anonymous, private": {private, "", false, ""},
		"reader, private":    {private, Read, true, "needs the right write"},
		"writer, private":    {private, Write, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, tc.repository, tc.right)
			output, err := c.try("clone", "-q", c.url, "work")
			if (err == nil) != tc.fetch {
				t.Fatalf("clone: %v\n%s", err, output)
			}
			if !tc.fetch {
				return
			}
			c.dir = filepath.Join(c.dir, "work")
			c.commit("new.txt", name)
			output, err = c.try("push", "-q", "origin", "HEAD:refs/heads/of-"+string(tc.right))
			if (err == nil) != (tc.push == "") || !strings.Contains(output, tc.push) {
				t.Errorf("push: %v\n%s", err, output)
			}
		})
	}
	anonymous := newClient(t, public, "")
	anonymous.url = strings.Replace(anonymous.url, "dev:@", "", 1)
	anonymous.clone()
	anonymous.url = strings.Replace(anonymous.url, public.id.Path, private.id.Path, 1)
	if output, err := anonymous.try("ls-remote", anonymous.url); err == nil {
		t.Errorf("a private repository is read by everybody: %s", output)
	}
}

func TestRevokedTokenAndTokenOfElsewhere(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	c := newClient(t, r, Write)
	c.run("ls-remote", c.url)
	tokens, err := f.Tokens(t.Context())
	if err != nil || len(tokens) != 1 {
		t.Fatal(tokens, err)
	}
	if err := f.RevokeToken(t.Context(), tokens[0].ID); err != nil {
		t.Fatal(err)
	}
	if output, err := c.try("ls-remote", c.url); err == nil {
		t.Errorf("a revoked token reads: %s", output)
	}
	secret, _, err := f.CreateToken(t.Context(), "other", Account{Name: "other", Right: Admin, Below: "another-team"})
	if err != nil {
		t.Fatal(err)
	}
	c.url = f.site.URL() + "/" + r.id.Path
	if output, err := c.try("-c", "http.extraHeader=Authorization: Bearer "+secret.Reveal(), "ls-remote", c.url); err == nil {
		t.Errorf("a token of another team reads: %s", output)
	}
}

func TestProtectedBranchesAreNotPushed(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	if err := r.Protect(t.Context(), "main", forge.Protection{PullRequestsOnly: true}); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, r, Write).clone()
	before := c.run("rev-parse", "HEAD")
	c.commit("shop.txt", "open\n")
	for _, refs := range [][]string{{"main"}, {"--force", "main"}, {":main"}, {"main:refs/heads/fine", "main"}} {
		output, err := c.try(append([]string{"push", "origin"}, refs...)...)
		if err == nil || !strings.Contains(output, "protected") || !strings.Contains(output, "open a pull request") {
			t.Errorf("push %v: %v\n%s", refs, err, output)
		}
	}
	for _, ref := range []string{"refs/pull/1/head", "refs/pull/7/head", "refs/notes/x"} {
		if output, err := c.try("push", "origin", "main:"+ref); err == nil || !strings.Contains(output, "only branches and tags") {
			t.Errorf("push %s: %v\n%s", ref, err, output)
		}
	}
	if got := c.run("ls-remote", "origin"); strings.Count(got, before) != 2 || strings.Count(got, "\n") != 1 {
		t.Errorf("something moved:\n%s", got)
	}
}

// Concurrent pushes, to separate branches and to the same one, leave the forge in git's state.
func TestPushStorm(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	var together sync.WaitGroup
	for i := range 6 {
		together.Go(func() {
			c := newClient(t, r, Write).clone()
			branch := fmt.Sprintf("branch-%d", i)
			for n := range 3 {
				c.commit("file.txt", fmt.Sprint(i, n))
				if output, err := c.try("push", "-qf", "origin", "HEAD:refs/heads/"+branch, "HEAD:refs/heads/all"); err != nil &&
					!strings.Contains(output, "all") {
					t.Errorf("push: %v\n%s", err, output)
				}
				if n > 0 {
					continue
				}
				if _, err := r.OpenPullRequest(context.Background(), forge.NewPullRequest{Head: branch, Base: "main", Title: branch}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	together.Wait()
	changes, err := r.FindPullRequests(t.Context(), forge.PullRequestFilter{})
	if err != nil || len(changes) != 6 {
		t.Fatalf("got %d changes, %v", len(changes), err)
	}
	objects := f.open(must(r.enter(t.Context(), Read)))
	for _, c := range changes {
		if now := must(objects.branch(c.Head.Branch)); now.String() != c.Head.Commit {
			t.Errorf("change %d is at %s, its branch at %s", c.Number, c.Head.Commit, now)
		}
		if kept := must(objects.commit(c.Fetch)); kept.String() != c.Head.Commit {
			t.Errorf("change %d is at %s, kept is %s", c.Number, c.Head.Commit, kept)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Limits and paths of requests that git does not send.
func TestRequestsNotOfGit(t *testing.T) {
	f := serve(t, Options{MaxPush: 1000})
	r := newRepository(t, f)
	secret, _, err := f.CreateToken(t.Context(), "test", Account{Name: "dev", Right: Write})
	if err != nil {
		t.Fatal(err)
	}
	bomb := &bytes.Buffer{}
	packed := gzip.NewWriter(bomb)
	_, _ = packed.Write(make([]byte, 1<<20))
	_ = packed.Close()
	path := "/git/" + r.id.Path
	for name, tc := range map[string]struct {
		method, path, encoding string
		body                   io.Reader
		want                   int
	}{
		"dumb protocol":          {"GET", path + "/info/refs", "", nil, 403},
		"unknown service":        {"GET", path + "/info/refs?service=git-evil", "", nil, 403},
		"wrong method":           {"POST", path + "/info/refs?service=git-upload-pack", "", nil, 405},
		"other repository":       {"GET", "/git/team/nothing/info/refs?service=git-upload-pack", "", nil, 404},
		"parent folder":          {"GET", "/git/team/..%2f..%2fetc/info/refs?service=git-upload-pack", "", nil, 404},
		"above the repositories": {"GET", "/git/../shop/info/refs?service=git-upload-pack", "", nil, 404},
		"too large":              {"POST", path + "/git-receive-pack", "", strings.NewReader(strings.Repeat("0", 2000)), 413},
		"too large unpacked":     {"POST", path + "/git-receive-pack", "gzip", bomb, 413},
		"unknown encoding":       {"POST", path + "/git-receive-pack", "br", strings.NewReader("x"), 400},
		"no gzip":                {"POST", path + "/git-receive-pack", "gzip", strings.NewReader("x"), 400},
		"no push":                {"POST", path + "/git-receive-pack", "", strings.NewReader("zzzz"), 400},
		"objects":                {"GET", path + ".git/objects/info/packs", "", nil, 404},
		"outside":                {"GET", "/gitea", "", nil, 404},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequest(tc.method, strings.TrimSuffix(f.site.URL(), "/git")+tc.path, tc.body)
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth("dev", secret.Reveal())
			request.Header.Set("Content-Encoding", tc.encoding)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != tc.want {
				body, _ := io.ReadAll(answer.Body)
				t.Errorf("got status %d, want %d: %s", answer.StatusCode, tc.want, body)
			}
		})
	}
	if left, err := os.ReadDir(f.temporary()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The git program gets neither tokens nor our environment.
func TestGitSeesNoEnvironment(t *testing.T) {
	t.Setenv("FORGE_PASSWORD", "of the server")
	dir := t.TempDir()
	program := filepath.Join(dir, "git")
	script := "#!/bin/sh\n[ \"$1\" = version ] && exec echo git version 2.50.0\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'; env\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	f := serve(t, Options{Git: program})
	r := newRepository(t, f)
	secret, _, err := f.CreateToken(t.Context(), "test", Account{Name: "dev", Right: Write})
	if err != nil {
		t.Fatal(err)
	}
	request, _ := http.NewRequest(http.MethodGet, f.site.URL()+"/"+r.id.Path+"/info/refs?service=git-upload-pack", nil)
	request.Header.Set("Authorization", "Bearer "+secret.Reveal())
	request.Header.Set("Cookie", "session=of-a-user")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	seen, _ := io.ReadAll(answer.Body)
	if !bytes.Contains(seen, []byte("REMOTE_USER=dev")) {
		t.Fatalf("the program was not run: %s", seen)
	}
	for _, hidden := range []string{secret.Reveal(), "of the server", "of-a-user"} {
		if bytes.Contains(seen, []byte(hidden)) {
			t.Errorf("the program sees %q", hidden)
		}
	}
}

func TestWithoutGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Open(t.Context(), Options{Dir: t.TempDir(), URL: "http://localhost"})
	if !errors.Is(err, forge.ErrInvalid) || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
}

// A slow client does not block other writers, and is disconnected eventually.
func TestSlowClientBlocksNoOther(t *testing.T) {
	f := serve(t, Options{Timeout: 300 * time.Millisecond})
	r := newRepository(t, f)
	secret, _, err := f.CreateToken(t.Context(), "test", Account{Name: "slow", Right: Write})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", f.site.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST /git/%s/git-receive-pack HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n00a5",
		r.id.Path, f.site.Host, secret.Reveal())
	commit(t, r, "main", nil)
	_ = connection.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.ReadAll(connection); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection stays: %v", err)
	}
}
