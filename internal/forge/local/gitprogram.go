package local

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os"

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
	program := cgi.Handler{
		Path: g.git, Root: "/", Dir: g.Dir, Args: []string{"http-backend"},
		Env: g.environment(c), Stderr: logWriter{g.log, c.path()},
	}
	program.ServeHTTP(w, inner)
}

// environment returns the git program's environment: no other configuration, no hooks, no prompts.
func (g gitHandler) environment(c call) []string {
	return append(g.baseEnvironment(
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
	), "GIT_PROJECT_ROOT="+g.repositories(), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+c.account.Name)
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
