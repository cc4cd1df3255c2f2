package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/git"
)

// output is what a program that runs has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wait returns what a pattern matches, once it does.
func (o *output) wait(t *testing.T, pattern string) []string {
	t.Helper()
	p := regexp.MustCompile(pattern)
	for {
		if found := p.FindStringSubmatch(o.String()); found != nil {
			return found
		}
		select {
		case <-o.more:
		case <-time.After(2 * time.Minute):
			t.Fatalf("got\n%swant it to match %s", o, pattern)
		}
	}
}

// server registers clusters and counts what they report.
type server struct {
	mu      sync.Mutex
	ready   map[string]bool
	batches int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/clusters/join" {
		if r.Header.Get("Authorization") != "Bearer to-join" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"credential":"of-the-cluster"}`)
		return
	}
	var batch hub.ReportBatch
	if z, err := gzip.NewReader(r.Body); err == nil {
		_ = json.NewDecoder(z).Decode(&batch)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches++
	for _, report := range batch.Reports {
		s.ready[batch.Cluster] = report.State == hub.StateReady
	}
	_, _ = io.WriteString(w, "{}")
}

// wait waits until clusters have reported that they are ready.
func (s *server) wait(t *testing.T, clusters ...string) {
	t.Helper()
	ready := func(cluster string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ready[cluster]
	}
	for _, cluster := range clusters {
		for deadline := time.Now().Add(2 * time.Minute); !ready(cluster); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s does not report that it is ready", cluster)
			}
		}
	}
}

// newGitOps is a platform GitOps repository with a namespace for clusters of type large.
func newGitOps(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "gitops")
	err := git.Create(t.Context(), dir, git.CreateRequest{
		Bare: true, Author: git.Person{Name: "Ann", Email: "ann@example.com"}, When: time.Now(),
		Branches: []git.NewBranch{{Name: "dev", Message: "first", Files: map[string][]byte{
			"large/ns.yaml": []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRunRegistersFollowsAndReports(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	hubServer := &server{ready: map[string]bool{}}
	web := httptest.NewServer(hubServer)
	t.Cleanup(web.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("to-join\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, ended := newOutput(), make(chan int)
	go func() {
		ended <- run(ctx, []string{
			"--gitops", newGitOps(t), "--environment", "dev", "--type", "large", "--count", "3", "--delay", "0s", "--delay-most", "0s",
			"--server", web.URL, "--join-token-file", token, "--fail", "large-02", "--offline", "large-03", "--control", "127.0.0.1:0",
		}, out, out)
	}()
	out.wait(t, `large-01 to large-03: 3 simulated clusters, following folder large of .*, branches dev`)
	control := out.wait(t, `--control (\S+), token in`)[1]
	out.wait(t, `1 of 3 clusters ready, 1 with failures, 1 offline`)

	ask := func(args ...string) string {
		var answer bytes.Buffer
		run(t.Context(), append(args[:1:1], append([]string{"--control", control}, args[1:]...)...), &answer, &answer)
		return answer.String()
	}
	if got := ask("kubectl", "large-01", "get", "namespaces"); !strings.Contains(got, "shop") {
		t.Errorf("kubectl: got %s", got)
	}
	if got := ask("cluster", "large-02", "recover"); got != "simulated cluster large-02: healthy\n" {
		t.Errorf("recover: got %s", got)
	}
	if got := ask("cluster", "large-99", "offline"); !strings.Contains(got, "no such simulated cluster") {
		t.Errorf("an unknown cluster: got %s", got)
	}
	out.wait(t, `2 of 3 clusters ready, 1 offline`)
	hubServer.wait(t, "large-01", "large-02") // what is seen here is reported a moment later
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("got exit code %d, want 0: %s", code, out)
	}
	out.wait(t, `stopped\n$`)
	if hubServer.ready["large-03"] {
		t.Errorf("reported: got %v, want large-01 and large-02", hubServer.ready)
	}
	if strings.Contains(out.String(), "to-join") || strings.Contains(out.String(), "of-the-cluster") {
		t.Errorf("a token is in the output: %s", out)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	good := []string{"--gitops", "x", "--environment", "dev", "--type", "large"}
	for want, args := range map[string][]string{
		"are needed":           {},
		"want 1 to 100000":     append(good[:6:6], "--count", "0"),
		"an address of this":   append(good[:6:6], "--control", "0.0.0.0:8090"),
		"is named twice":       append(good[:6:6], "--fail", "large-01", "--offline", "large-01"),
		"only --fail knows":    append(good[:6:6], "--slow", "large-01=shop"),
		"not a server address": append(good[:6:6], "--server", "ftp://x"),
		"unknown flag":         {"--typo"},
		`unknown mode "dance"`: {"cluster", "large-01", "dance"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), args, &out, &out); code != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%q: got %d %s, want 2 and something about %q", args, code, &out, want)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), append(good, "--fail", "large-09"), &out, &out); code != 1 || !strings.Contains(out.String(), "there is large-01") {
		t.Errorf("an unknown cluster: got %d %s", code, &out)
	}
	out.Reset()
	if code := run(t.Context(), []string{"kubectl", "--control", "127.0.0.1:1", "large-01", "get", "ns"}, &out, &out); code != 1 || !strings.Contains(out.String(), "do simulated clusters run with") {
		t.Errorf("nobody there: got %d %s", code, &out)
	}
}
