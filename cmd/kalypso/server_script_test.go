package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
)

// lineLog is what a process writes, for waiting until it has written a line.
type lineLog struct {
	ended chan struct{} // is closed when the process has ended and everything that it wrote was read

	mu   sync.Mutex
	log  bytes.Buffer
	more chan struct{} // is closed and replaced when there is more of the log
	seen map[int]bool  // where lines begin that were waited for
}

func newLineLog() *lineLog {
	return &lineLog{ended: make(chan struct{}), more: make(chan struct{}), seen: map[int]bool{}}
}

// startLogged starts a process, and keeps what it writes.
func startLogged(cmd *exec.Cmd) (*lineLog, error) {
	l := newLineLog()
	cmd.Stdout, cmd.Stderr = l, l
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(l.ended)
	}()
	return l, nil
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.log.Write(p)
}

// next reports whether a line of the log matches that was not waited for before, and returns what is closed when there are more
// lines.
func (l *lineLog) next(pattern *regexp.Regexp) (found bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := 0
	for line := range bytes.Lines(l.log.Bytes()) {
		if text, complete := bytes.CutSuffix(line, []byte("\n")); complete && !l.seen[at] && pattern.Match(text) {
			l.seen[at] = true
			return true, nil
		}
		at += len(line)
	}
	return false, l.more
}

func (l *lineLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

// wait waits until a line matches. It fails when the process has ended, and shortly before the deadline of the test.
func (l *lineLog) wait(t *testing.T, pattern string) error {
	p, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	var deadline <-chan time.Time
	if end, ok := t.Deadline(); ok {
		timer := time.NewTimer(time.Until(end) - 10*time.Second)
		defer timer.Stop()
		deadline = timer.C
	}
	for ended := false; ; {
		found, more := l.next(p)
		switch {
		case found:
			return nil
		case ended:
			return fmt.Errorf("the process has ended without a line like %q:\n%s", pattern, l.text())
		}
		select {
		case <-more:
		case <-l.ended:
			ended = true
		case <-deadline:
			return fmt.Errorf("no line like %q:\n%s", pattern, l.text())
		}
	}
}

// scriptServer is the server of a script.
type scriptServer struct {
	*lineLog
	process *os.Process
	state   func() *os.ProcessState
}

// serverCommands are the script commands about the one server of a script.
type serverCommands struct {
	t       *testing.T
	mu      sync.Mutex
	running map[*testscript.TestScript]*scriptServer
}

func newServerCommands(t *testing.T) *serverCommands {
	return &serverCommands{t: t, running: map[*testscript.TestScript]*scriptServer{}}
}

func (c *serverCommands) server(ts *testscript.TestScript) *scriptServer {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.running[ts]
	if s == nil {
		ts.Fatalf("the script has started no server")
	}
	return s
}

// start starts "kalypso serve" and waits until it serves. It sets $PORT, $URL and $KALYPSO_SERVER the first time.
func (c *serverCommands) start(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: server [ARGS...]")
	}
	if ts.Getenv("URL") == "" {
		address, err := freeAddress()
		ts.Check(err)
		_, port, err := net.SplitHostPort(address)
		ts.Check(err)
		ts.Setenv("PORT", port)
		ts.Setenv("URL", "http://"+address)
		ts.Setenv(backend.EnvServer, "http://"+address)
	}
	args = append([]string{"serve", "--listen", "127.0.0.1:" + ts.Getenv("PORT"), "--data", "data"}, args...)
	if !strings.Contains(strings.Join(args, " "), "--config") {
		args = append(args, "--control-plane", ts.Getenv("URL")+"/platform/control-plane")
	}
	c.run(ts, `"msg":"serving"`, args...)
}

// sample starts "kalypso sample up" and waits until its clusters run.
func (c *serverCommands) sample(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: sample [ARGS...]")
	}
	c.run(ts, `kalypso sample down.* removes it`, append([]string{"sample", "up"}, args...)...)
}

// run starts kalypso, and waits for a line that says that it is ready.
func (c *serverCommands) run(ts *testscript.TestScript, ready string, args ...string) {
	cmd := exec.Command("kalypso", args...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnvironment(ts)
	log, err := startLogged(cmd)
	ts.Check(err)
	c.mu.Lock()
	c.running[ts] = &scriptServer{lineLog: log, process: cmd.Process, state: func() *os.ProcessState { return cmd.ProcessState }}
	c.mu.Unlock()
	ts.Defer(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-log.ended
	})
	ts.Check(log.wait(c.t, ready))
}

// ended waits until the server has ended by itself, and wants no error.
func (c *serverCommands) ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: ended")
	}
	s := c.server(ts)
	<-s.ended
	if code := s.state().ExitCode(); code != 0 {
		ts.Fatalf("the server ended with %d:\n%s", code, s.text())
	}
}

// scriptEnvironment has the variables of a script that a server needs.
func scriptEnvironment(ts *testscript.TestScript) []string {
	env := []string{"GOGC=400"} // a tenth of the work of a server was to collect garbage
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "GIT_CONFIG_NOSYSTEM", "BOT_TOKEN", "FORGE_TOKEN", "KALYPSO_GIT_HOST", "KALYPSO_GIT_TOKEN", backend.EnvServer,
	} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// logs waits until the server has logged a line that matches, other than those that were waited for before.
func (c *serverCommands) logs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: logs PATTERN")
	}
	ts.Check(c.server(ts).wait(c.t, args[0]))
}

// watch waits until "kalypso status --watch" shows a line that matches. The command runs in this process, because
// scripts watch 180 times.
func (c *serverCommands) watch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: watch PATTERN")
	}
	log := newLineLog()
	ctx, stop := context.WithCancel(c.t.Context())
	go func() {
		defer close(log.ended)
		run(ctx, []string{"status", "--watch"}, scriptEnvironment(ts), strings.NewReader(""), log, log)
	}()
	err := log.wait(c.t, args[0])
	stop()
	<-log.ended
	if err != nil {
		ts.Fatalf("%v\nThe log of the server:\n%s", err, c.server(ts).text())
	}
}

// shutdown ends the server, with an interrupt unless it is to be killed, and leaves its log in server.log.
func (c *serverCommands) shutdown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "kill" {
		ts.Fatalf("usage: shutdown [kill]")
	}
	s, signal := c.server(ts), os.Interrupt
	if len(args) == 1 {
		signal = os.Kill
	}
	ts.Check(s.process.Signal(signal))
	<-s.ended
	ts.Check(os.WriteFile(ts.MkAbs("server.log"), []byte(s.text()), 0o600))
	if code := s.state().ExitCode(); signal == os.Interrupt && code != 0 {
		ts.Fatalf("the server ended with %d:\n%s", code, s.text())
	}
}

// page fetches a page of the server once:
//
//	[!] page URL PATTERN [STATUS]    200 is the status unless another one is named
func page(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 2 {
		args = append(args, strconv.Itoa(http.StatusOK))
	}
	if len(args) != 3 {
		ts.Fatalf("usage: [!] page URL PATTERN [STATUS]")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	response, err := http.Get(args[0]) //nolint:noctx // a script has no context
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	if found := strconv.Itoa(response.StatusCode) == args[2] && pattern.Match(body); found == neg {
		ts.Fatalf("%s answers %s:\n%s", args[0], response.Status, body)
	}
}

// pushFleet pushes the example fleet to the server, with pull requests that are merged automatically, and a cluster of type large
// in each environment, and waits until they run its commit of main, $FIRST. The work trees are control-plane and gitops.
func (c *serverCommands) pushFleet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: fleet")
	}
	token := strings.TrimSpace(ts.ReadFile("data/admin-token"))
	origin := strings.Replace(ts.Getenv("URL"), "://", "://admin:"+token+"@", 1) + "/platform/"
	do := func(program string, args ...string) { ts.Check(ts.Exec(program, args...)) }
	do("kalypso", "init", "gitops", "gitops")
	do("kalypso", "init", "control-plane", "control-plane")
	for _, environment := range []string{"dev", "stage"} {
		do("git", "-C", "control-plane", "checkout", "-q", environment)
		edit(ts, false, []string{"control-plane/gitops-repo.yaml", "branch: " + environment, "branch: " + environment + `\n  autoMerge: true`})
		commit(ts, false, []string{"control-plane", environment + " needs no review"})
	}
	do("git", "-C", "control-plane", "checkout", "-q", "main")
	do("git", "-C", "gitops", "push", "-q", "--all", origin+"gitops")
	do("git", "-C", "control-plane", "remote", "add", "origin", origin+"control-plane")
	do("git", "-C", "control-plane", "push", "-q", "--all", "origin")
	first := revParse(ts)
	ts.Setenv("FIRST", first)
	for _, environment := range []string{"dev", "stage"} {
		do("kalypso", "cluster", "register", environment+"-1", "--member", environment+"/large", "--token-file", "data/admin-token", "--credential", environment+"-1.token")
		c.logs(ts, false, []string{first + " is published in " + environment})
		report(ts, false, []string{environment + "-1", "ready"})
		c.watch(ts, false, []string{"^" + environment + " +" + first + "  good"})
	}
}

// revParse returns the commit of the work tree control-plane, in short.
func revParse(ts *testscript.TestScript) string {
	ts.Check(ts.Exec("git", "-C", "control-plane", "rev-parse", "--short=7", "HEAD"))
	return strings.TrimSpace(ts.ReadFile("stdout"))
}

// pushCommit commits everything in the control plane's work tree and pushes it.
func pushCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: push NAME MESSAGE")
	}
	commit(ts, false, []string{"control-plane", args[1]})
	ts.Check(ts.Exec("git", "-C", "control-plane", "push", "-q", "origin", "HEAD"))
	ts.Setenv(args[0], revParse(ts))
}

// report sends what a cluster runs: the head of a GitOps branch. The state "heartbeat" sends no report.
func report(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] report CLUSTER STATE [name=NAME] [repository=URL] [branch=NAME] [path=FOLDER] [revision=COMMIT or @FILE] [clock=DURATION] [observed=DURATION] [message=TEXT]")
	}
	cluster := args[0]
	branch, _, _ := strings.Cut(cluster, "-")
	r := hub.Report{
		Kind: "Kustomization", Namespace: "flux-system", Name: "platform", Path: "large", Repository: ts.Getenv("URL") + "/platform/gitops",
		State: hub.State(args[1]), Observed: time.Now(),
	}
	sent := r.Observed
	for _, arg := range args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "name":
			r.Name = value
		case "repository":
			r.Repository = value
		case "path":
			r.Path = value
		case "branch":
			branch = value
		case "revision":
			r.Revision = value
			if file, ok := strings.CutPrefix(value, "@"); ok {
				r.Revision = strings.TrimSpace(ts.ReadFile(file))
			}
		case "message":
			r.Message = value
		case "observed":
			ahead, err := time.ParseDuration(value)
			ts.Check(err)
			sent = time.Now()
			r.Observed = sent.Add(ahead)
		case "clock":
			skew, err := time.ParseDuration(value)
			ts.Check(err)
			r.Observed = r.Observed.Add(skew)
			sent = r.Observed
		default:
			ts.Fatalf("unknown argument %q", arg)
		}
	}
	if r.Ref = branch; r.Revision == "" {
		ts.Check(ts.Exec("git", "ls-remote", ts.MkAbs("data/forge/repos/platform/gitops.git"), "refs/heads/"+branch))
		r.Revision, _, _ = strings.Cut(ts.ReadFile("stdout"), "\t")
	}
	reports := []hub.Report{r}
	if r.State == "heartbeat" {
		reports = nil
	}
	body, err := json.Marshal(hub.NewReportBatch(cluster, sent, reports))
	ts.Check(err)
	request, err := http.NewRequest(http.MethodPost, ts.Getenv("URL")+"/api/v1/reports", bytes.NewReader(body)) //nolint:noctx // a script has no context
	ts.Check(err)
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(cluster+".token")))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), strconv.Itoa(response.StatusCode), string(answer))
	if accepted := response.StatusCode == http.StatusOK; accepted == neg {
		ts.Fatalf("the server answers %s: %s", response.Status, answer)
	}
}
