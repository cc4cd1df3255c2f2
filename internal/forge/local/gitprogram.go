package local

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os"
	"runtime"
	"slices"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// handOver lets the git program answer. It passes only what the program needs of the request, and nothing of this
// process's environment.
func (g gitHandler) handOver(w http.ResponseWriter, r *http.Request, c call, body io.ReadCloser, size int64) {
	inner := r.Clone(r.Context())
	inner.URL = &url.URL{Path: "/" + c.path() + ".git/" + c.action}
	if c.action == "info/refs" {
		inner.URL.RawQuery = url.Values{"service": {c.service}}.Encode()
	}
	inner.Header, inner.Body, inner.ContentLength, inner.TransferEncoding = http.Header{}, body, size, nil
	for _, name := range []string{"Content-Type", "Git-Protocol", "User-Agent"} {
		if value := r.Header.Get(name); value != "" {
			inner.Header.Set(name, value)
		}
	}
	if body == nil {
		inner.Body = http.NoBody
	}
	path, args := limited(g.git, "http-backend")
	program := cgi.Handler{
		Path: path, Root: "/", Dir: g.Dir, Args: args,
		Env: g.environment(c), Stderr: logWriter{g.log, c.path()},
	}
	program.ServeHTTP(w, inner)
}

// The limits of a git program, and of each that it starts: memory without mapped files, in KiB, and processor time, in seconds.
const (
	maxGitMemory    = 512 << 10
	maxGitProcessor = 600
)

// limited returns the command that runs git with limits, where the system has them.
func limited(git string, args ...string) (string, []string) {
	const shell = "/bin/sh"
	if _, err := os.Stat(shell); runtime.GOOS != "linux" || err != nil {
		return git, args
	}
	script := fmt.Sprintf(`ulimit -d %d && ulimit -t %d && exec "$0" "$@"`, maxGitMemory, maxGitProcessor)
	return shell, append([]string{"-c", script, git}, args...)
}

// modest are settings with which git needs little memory, whatever a repository has: it passes large objects through, and makes no deltas of them.
var modest = [][2]string{
	{"core.bigFileThreshold", "16m"},
	{"core.deltaBaseCacheLimit", "64m"},
	{"pack.threads", "2"},
	{"pack.windowMemory", "64m"},
	{"pack.deltaCacheSize", "64m"},
}

// environment returns the git program's environment: no other configuration, no hooks, no prompts.
func (g gitHandler) environment(c call) []string {
	return append(g.baseEnvironment(append(slices.Clone(modest),
		[2]string{"safe.directory", "*"},
		[2]string{"core.hooksPath", os.DevNull},
		[2]string{"http.receivepack", "true"},
		[2]string{"receive.hideRefs", "refs/pull"},
		[2]string{"receive.fsckObjects", "true"},
		// Git repacks while the repository is locked, not in the background.
		[2]string{"gc.autoDetach", "false"},
		[2]string{"maintenance.autoDetach", "false"},
		// A pinned commit can be fetched by its hash.
		[2]string{"uploadpack.allowReachableSHA1InWant", "true"},
	)...), "GIT_PROJECT_ROOT="+g.repositories(), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+c.account.Name)
}

// logWriter logs a program's error output.
type logWriter struct {
	log        *slog.Logger
	repository string
}

// Write logs one line.
func (l logWriter) Write(text []byte) (int, error) {
	l.log.Warn("git says", "repository", l.repository, "text", secret.Scrub(string(text)))
	return len(text), nil
}
