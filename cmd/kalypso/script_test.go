package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
)

// update is -update, which rewrites the golden files within the scripts. Support packages of tests may have it already.
var update = func() flag.Getter {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite the golden files within the scripts")
	}
	return flag.Lookup("update").Value.(flag.Getter)
}()

func TestMain(m *testing.M) {
	completionTimeout = time.Minute
	sandbox.Main(os.Args[1:]) // commands that run in the process of a test render charts, too
	if slices.Equal(os.Args[1:], []string{runnerCommand}) {
		runForRelays()
	}
	name := filepath.Base(os.Args[0])
	if name == "kalypso" && !slices.Contains(os.Args, "json") {
		main()
	}
	if program := programs[name]; program != nil {
		os.Exit(program(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	remove, err := installPrograms()
	if err != nil {
		fmt.Fprintln(os.Stderr, "install the programs of scripts:", err)
		os.Exit(1)
	}
	code := m.Run()
	remove()
	os.Exit(code)
}

// installPrograms puts the programs of scripts, which are this one, and their relay on the PATH.
func installPrograms() (remove func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(self), "programs") // a link leads nowhere else
	if err != nil {
		return nil, err
	}
	for name := range programs {
		if err := os.Link(self, filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	if err := os.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		return nil, err
	}
	stop, err := startRelay(folder)
	return func() { stop(); _ = os.RemoveAll(folder) }, err
}

// programs are the programs of scripts.
var programs = map[string]func(args, env []string, stdin io.Reader, stdout, stderr io.Writer) int{"kalypso": checked, "masked": masked}

// checked is the program, with a check of a command that prints JSON: its exit code is in the table, and the output matches its schema.
func checked(args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	if !slices.Contains(args, "json") {
		return run(ctx, args, env, stdin, stdout, stderr)
	}
	var out bytes.Buffer
	code := run(ctx, args, env, stdin, io.MultiWriter(stdout, &out), stderr)
	if err := checkResult(args, code, out.Bytes()); err != nil {
		fmt.Fprintln(stderr, "the test found:", err)
		code = 70
	}
	return code
}

// TestScript runs testdata/script/<command>_<scenario>.txtar: the directory listing is the list of features.
//
// Each script finds the example fleet in $WORK/hello-fleet, plain folders to be edited at will, the other examples in
// $EXAMPLES, and knows more than testscript's own commands:
//
//	exits CODE PROGRAM [ARGS...]    runs a program, and wants exactly this exit code
//	edit FILE OLD NEW               replaces a text, which has to be there, everywhere in a file; \n is a new line
//	commit DIR MESSAGE              commits everything in a work tree, as Ann
//	serve DIR USER:PASSWORD         serves the repositories in a folder over HTTP, at $SERVER
//	gitea DIR                       serves the repositories DIR/<owner>/<name>.git as a Gitea does, at $GITEA
//	freeport NAME                   sets a variable to a free port
//	server [ARGS...]                starts "kalypso serve" at $URL, and waits until it serves
//	logs PATTERN                    waits until the server logs a line that matches, other than those that were waited for before
//	watch PATTERN                   waits until "kalypso status --watch" shows a line that matches
//	sample [ARGS...]                starts "kalypso sample up", and waits until its clusters run
//	ended                           waits until the server or the sample has ended by itself
//	shutdown [kill]                 ends the server; its log is server.log then
//	[!] page URL PATTERN            fetches a page, which matches
//	fleet                           pushes the example fleet to the server, with clusters dev-1 and stage-1 that run its commit $FIRST
//	push NAME MESSAGE               commits the work tree control-plane, pushes it, and sets the variable NAME to the commit in short
//	[!] report CLUSTER STATE ...    reports that a cluster runs the head of its GitOps branch; see [report]
//	[!] ask [--flag ...] -- TOOL JSON
//	                                asks "kalypso mcp" as an assistant does; see [askAssistant]
//	onforge TOKENFILE REPOSITORY ACTION...
//	                                acts on the newest pull request as a user, on the pages of the embedded forge; see [onForge]
//	registry NAME [...]             starts a registry at $NAME, adds an image, lists the tags, or fills its disk; see [imageRegistry]
//	artifacts NAME                  starts a registry for artifacts of all types at $NAME
//	tamper FOLDER TAG NEWTAG FILE OLD NEW
//	                                publishes a version again under another tag, with a text of a file replaced
//	receiver NAME STATUS            starts a receiver of messages at $NAME, which answers with a status and writes each body to the file NAME
//	controlplane                    makes the repository control-plane, with the example fleet and an environment prod, and gitops beside it
//	token FILE                      lets commands use the token in a file
//	guide NAME                      opens a how-to guide for the next three commands
//	example N[.DOCUMENT] FILE       writes the guide's Nth block of YAML or JSON, or a document of it, to a file
//	[!] follow PATTERN [OLD NEW...] runs the guide's next command, with texts replaced, and wants output that matches
//	followed                        wants that each command of the guide was run
//	cluster KUBECONFIG URL BRANCH PATH @FILE
//	                                serves a cluster whose Flux follows a repository, and runs the commit in the file
//
// The program kalypso is a relay to a process that runs one command after the other, unless it runs on and on; see [startRelay].
// The program "masked" is kalypso with an output that is the same each time: commit ids are shown as #######,
// and the folder of the script as $WORK.
func TestScript(t *testing.T) {
	servers, guides := newServerCommands(t), newGuideCommands(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       update.Get() == true,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "edit": edit, "commit": commit, "serve": serveGit, "gitea": serveGitea(t),
			"freeport": freePort, "server": servers.start, "sample": servers.sample, "shutdown": servers.shutdown, "ended": servers.ended,
			"logs": servers.logs, "watch": servers.watch, "page": page,
			"fleet": servers.pushFleet, "push": pushCommit, "report": report,
			"controlplane": guides.controlPlane, "token": useToken,
			"guide": guides.start, "example": guides.example, "follow": guides.follow, "followed": guides.followed,
			"registry": imageRegistry, "artifacts": artifacts, "tamper": tamper, "cluster": cluster, "receiver": receiver, "onforge": onForge, "ask": askAssistant,
		},
	})
}

// TestPythonIsInstalled fails in CI where the script of the example in Python would be skipped.
func TestPythonIsInstalled(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil && os.Getenv("CI") != "" {
		t.Errorf("the example of a scheduler in Python is not tested: %v", err)
	}
}

// setUp keeps a script from the configuration and the credentials of whoever runs it, and lays out the example fleet.
func setUp(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir+"/home")
	env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/home/.cache")
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("GIT_TERMINAL_PROMPT", "0")
	env.Setenv("HTTPS_PROXY", scriptProxy) // registries of images do not answer
	if err := os.MkdirAll(env.WorkDir+"/home", 0o777); err != nil {
		return err
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", filepath.Join(repository, "examples"))
	env.Setenv("RECORDED", filepath.Join(repository, "cmd/kalypso/testdata/upgrade/recorded.tar.gz"))
	return os.CopyFS(filepath.Join(env.WorkDir, "hello-fleet"), hellofleet.Files())
}

// What differs between two runs of a script, besides its folder: commit ids, and the port of the server.
var (
	commitID = regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{7})\b`)
	port     = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
)

// masked is the program of that name: "masked kalypso plan -e dev" shows what "kalypso plan -e dev" shows.
func masked(args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var out, err bytes.Buffer
	code := run(context.Background(), args[1:], env, stdin, &out, &err)
	mask := func(text []byte) []byte {
		text = bytes.ReplaceAll(text, []byte(os.Getenv("WORK")), []byte("$WORK"))
		return port.ReplaceAll(commitID.ReplaceAll(text, []byte("#######")), []byte("HOST"))
	}
	_, _ = stdout.Write(mask(out.Bytes()))
	_, _ = stderr.Write(mask(err.Bytes()))
	return code
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

func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	lines := strings.NewReplacer(`\n`, "\n")
	text, old := ts.ReadFile(args[0]), lines.Replace(args[1])
	if !strings.Contains(text, old) {
		ts.Fatalf("%s does not contain %q", args[0], old)
	}
	text = strings.ReplaceAll(text, old, lines.Replace(args[2]))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

func commit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: commit DIR MESSAGE")
	}
	ts.Check(ts.Exec("git", "-C", args[0], "add", "-A"))
	ts.Check(ts.Exec("git", "-C", args[0], "-c", "user.name=Ann", "-c", "user.email=ann@example.com",
		"commit", "-q", "--allow-empty", "-m", args[1]))
}

// serveGit serves bare repositories as forges do: the git program behind basic authentication.
func serveGit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve DIR USER:PASSWORD")
	}
	git, err := exec.LookPath("git")
	ts.Check(err)
	backend := &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{
			"GIT_PROJECT_ROOT=" + ts.MkAbs(args[0]), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ann",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user+":"+password != args[1] {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			// Servers have been seen to repeat what they were told.
			http.Error(w, "not for you, "+password, http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("SERVER", server.URL)
}
