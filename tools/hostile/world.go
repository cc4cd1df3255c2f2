package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// world is a server with the tutorial's fleet, and a clone of its control plane.
type world struct {
	program, folder string
	address         string // of the server
	server          *exec.Cmd
	ended           chan struct{}
	group           string // a control group of the server; empty without one
	packs           *packServer
	client          http.Client
}

// start starts a server in a folder.
func start(program, folder string) (*world, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	w := &world{program: program, folder: folder, address: address, client: http.Client{Timeout: maxReady}}
	if w.packs, err = newPackServer(); err != nil {
		return nil, err
	}
	w.group = newGroup()
	if err := w.restart(); err != nil {
		w.stop()
		return nil, fmt.Errorf("%w\n%s", err, w.tail())
	}
	fmt.Printf("a server with %d MiB; address space %d GiB; control group: %s\n", limit>>20, addresses>>30, or(w.group, "none can be made here"))
	return w, w.clone()
}

// freeAddress finds a free address. Its port is below those that systems give to programs that ask for any: one of them could get it before
// the server serves, which takes some seconds.
func freeAddress() (string, error) {
	const lowest, ports = 10_000, 20_000
	for range 1000 {
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(ports))); err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", errors.New("find a free port: all that were tried are taken")
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// restart starts the server, and waits until it has read its fleet.
func (w *world) restart() error {
	script := fmt.Sprintf("ulimit -v %d; exec %q sample up --dir %q --listen %s", addresses>>10, w.program, w.sample(), w.address)
	if w.group != "" {
		script = fmt.Sprintf("echo $$ >%q; %s", filepath.Join(w.group, "cgroup.procs"), script)
	}
	w.server = exec.Command("sh", "-c", script)
	w.server.Env = append(os.Environ(), "KALYPSO_MEMORY="+strconv.Itoa(limit))
	output, err := os.OpenFile(filepath.Join(w.folder, "output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	w.server.Stdout, w.server.Stderr = output, output
	w.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.server.Start(); err != nil {
		return err
	}
	w.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan struct{}) {
		_ = server.Wait()
		close(ended)
	}(w.server, w.ended)
	return w.settle()
}

func (w *world) sample() string { return filepath.Join(w.folder, "sample") }

func (w *world) alive() bool {
	select {
	case <-w.ended:
		return false
	default:
		return true
	}
}

// renew ends the server and starts another one.
func (w *world) renew() error {
	w.kill()
	return w.restart()
}

// kill ends the server and its children.
func (w *world) kill() {
	if w.server != nil && w.alive() {
		_ = syscall.Kill(-w.server.Process.Pid, syscall.SIGKILL)
		<-w.ended
	}
}

// stop ends everything.
func (w *world) stop() {
	w.kill()
	w.packs.Close()
	if w.group != "" {
		_ = os.Remove(w.group)
	}
}

// tail returns the last lines of what the server printed and logged.
func (w *world) tail() string {
	var all []string
	for _, name := range []string{filepath.Join(w.folder, "output"), filepath.Join(w.sample(), "server.log")} {
		text, _ := os.ReadFile(name)
		lines := strings.Split(string(text), "\n")
		all = append(all, lines[max(0, len(lines)-30):]...)
	}
	return strings.Join(all, "\n")
}

// patience is how long a server may take for anything. It is for one that hangs.
const patience = 10 * time.Minute

// settle waits until the server is ready.
func (w *world) settle() error {
	var last string
	until := time.Now().Add(patience)
	for time.Now().Before(until) {
		if !w.alive() {
			return fmt.Errorf("it ended (%s); its last answer was: %s", w.server.ProcessState, or(last, "none"))
		}
		last = ""
		// A server that is ready may not know the environment yet.
		for _, path := range []string{"/readyz", "/environments/dev"} {
			if status, text, err := w.get(context.Background(), path); err != nil || status != http.StatusOK {
				last = fmt.Sprint(path, ": ", status, " ", shorten(text, 200), err)
				break
			}
		}
		if last == "" {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("its last answer after %s was: %s", patience, last)
}

// get requests a page as JSON.
func (w *world) get(ctx context.Context, path string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+path, nil)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Accept", "application/json")
	// Those who may do more do not wait behind those who only read. What is read is the same.
	if token, err := os.ReadFile(filepath.Join(w.sample(), "data", "admin-token")); err == nil {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return w.do(request)
}

func (w *world) do(request *http.Request) (int, string, error) {
	client := http.Client{Timeout: patience}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	return answer.StatusCode, string(text), err
}

// plan asks for the plan of a branch, as anybody who may read can, and waits for it.
func (w *world) plan(branch, into string) (string, error) {
	query := url.Values{"branch": {branch}, "environment": {"dev"}}
	if into != "" {
		query.Set("into", into)
	}
	until := time.Now().Add(patience)
	for time.Now().Before(until) {
		status, text, err := w.get(context.Background(), "/plan?"+query.Encode())
		switch {
		case err != nil:
			return "", fmt.Errorf("ask for the plan: %w", err)
		case status == http.StatusAccepted:
			time.Sleep(50 * time.Millisecond)
		case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
			time.Sleep(time.Second)
		default:
			return fmt.Sprintf("%d %s", status, notable(text)), nil
		}
	}
	return "", fmt.Errorf("no plan within %s", patience)
}

// notable returns what an answer says about problems.
func notable(text string) string {
	for _, word := range []string{`"message":`, `"title":`, `"detail":`} {
		if i := strings.Index(text, word); i >= 0 {
			return text[i:min(len(text), i+400)]
		}
	}
	return text[:min(len(text), 200)]
}

// clone makes a clone of the control plane, with the credential of the platform team.
func (w *world) clone() error {
	credentials, err := os.ReadFile(filepath.Join(w.sample(), "git-credentials"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(credentials)) {
		u, err := url.Parse(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		u.Path = "/platform/control-plane"
		if _, err := w.git(w.folder, "clone", "-q", u.String(), "control-plane"); err == nil {
			if _, err = w.git(w.clonePath(), "push", "-q", "origin", "origin/main:refs/heads/may-push"); err == nil {
				return nil
			}
		}
		_ = os.RemoveAll(w.clonePath())
	}
	return errors.New("no credential of the sample may push to its control plane")
}

func (w *world) clonePath() string { return filepath.Join(w.folder, "control-plane") }

// git runs git in a folder.
func (w *world) git(dir string, args ...string) (string, error) {
	return w.gitWith(dir, nil, args...)
}

func (w *world) gitWith(dir string, input []byte, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=hostile", "-c", "user.email=hostile@example.com", "-c", "core.bigFileThreshold=1m", "-c", "gc.auto=0",
	}, args...)...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, problems.String())
	}
	return strings.TrimSpace(string(output)), nil
}

// branch makes a branch of the control plane with files beside those of another one, and pushes it.
func (w *world) branch(name, base string, files map[string]string) error {
	var stream bytes.Buffer
	tip, err := w.git(w.clonePath(), "rev-parse", "origin/"+base)
	if err != nil {
		return err
	}
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter hostile <hostile@example.com> 1700000000 +0000\ndata 7\nhostile\nfrom %s\n", name, tip)
	marks := map[string]int{}
	var blobs bytes.Buffer
	for path, content := range files {
		mark, known := marks[content]
		if !known {
			mark = len(marks) + 1
			marks[content] = mark
			fmt.Fprintf(&blobs, "blob\nmark :%d\ndata %d\n%s\n", mark, len(content), content)
		}
		fmt.Fprintf(&stream, "M 100644 :%d %s\n", mark, path)
	}
	if _, err := w.gitWith(w.clonePath(), append(blobs.Bytes(), stream.Bytes()...), "fast-import", "--quiet", "--force"); err != nil {
		return err
	}
	_, err = w.git(w.clonePath(), "push", "-q", "--force", "origin", name)
	return err
}
