package git

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	testUser  = "x-access-token"
	testToken = "s3cr3t+/tok%en@42"
)

// server serves bare repositories over smart HTTP as forges do: the git program behind basic authentication.
type server struct {
	t    *testing.T
	http *httptest.Server
	// root holds the repositories.
	root string
	// open allows public reading.
	open atomic.Bool
	// token is the valid password.
	token atomic.Value
	// packs counts the requested packs, sent the bytes of all answers.
	packs, sent atomic.Int64

	mu   sync.Mutex
	seen []http.Header
}

func newServer(t *testing.T) *server {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("the git program, which serves repositories, is not installed")
	}
	s := &server{t: t, root: t.TempDir()}
	s.token.Store(testToken)
	backend := &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ann", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Header.Clone())
		s.mu.Unlock()
		user, password, _ := r.BasicAuth()
		if !s.open.Load() && (user != testUser || password != s.token.Load()) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "go away, you with "+password, http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			s.packs.Add(1)
		}
		backend.ServeHTTP(countingWriter{w, &s.sent}, r)
	}))
	t.Cleanup(s.http.Close)
	return s
}

func (s *server) host() string { return strings.TrimPrefix(s.http.URL, "http://") }

// env returns an environment with the credential for this server.
func (s *server) env() map[string]string {
	return map[string]string{"KALYPSO_GIT_TOKEN": testToken, "KALYPSO_GIT_HOST": "example.com, " + s.host()}
}

// publish creates a bare repository of the server from files, and returns a clone to work in and the URL.
func (s *server) publish(name string, files map[string]string) (*testRepo, string) {
	s.t.Helper()
	made := newRepo(s.t, files)
	bare := filepath.Join(s.root, name)
	made.git("clone", "-q", "--bare", made.dir, bare)
	made.git("remote", "add", "origin", bare)
	return made, s.http.URL + "/" + name
}

// countingWriter counts written bytes.
type countingWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (w countingWriter) Write(p []byte) (int, error) {
	w.sent.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

// requestsWithCredentials returns the number of requests with a credential.
func (s *server) requestsWithCredentials() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, h := range s.seen {
		if h.Get("Authorization") != "" {
			n++
		}
	}
	return n
}
