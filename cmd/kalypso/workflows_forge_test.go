package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/cmd/kalypso/workflowtest"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops/azuredevopstest"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket/bitbuckettest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab/gitlabtest"
)

// workflowForge is a forge as jobs of its CI system see it: at its own host name, by https, with a fake that answers the API and
// real Git repositories behind. Merging moves their branches.
type workflowForge struct {
	*testing.T
	kind workflowKind
	// dir holds the bare repositories <dir>/<path>.git.
	dir   string
	world *forgetest.World
	api   http.Handler
	git   *cgi.Handler
	// env leads programs here, whatever host they ask for.
	env []string
	// mu lets one request after the other compare the repositories with the world.
	mu sync.Mutex
}

// workflowKind is a kind of forge, with its CI system.
type workflowKind struct {
	flag   string
	system workflowtest.System
	// url is that of the repositories without their names, path the same in the world.
	url, path string
	start     func(*testing.T) (*forgetest.World, string)
}

// workflowToken is the token of jobs.
const workflowToken = "token-of-the-jobs-0123456789"

var workflowKinds = []workflowKind{
	{"github", workflowtest.GitHub, "https://github.example.com/acme/", "acme/", func(t *testing.T) (*forgetest.World, string) {
		f := githubtest.New(t)
		return f.World, f.URL
	}},
	{"gitlab", workflowtest.GitLab, "https://gitlab.example.com/acme/", "acme/", func(t *testing.T) (*forgetest.World, string) {
		s := gitlabtest.New(t)
		return s.World, s.URL
	}},
	{"azure", workflowtest.Azure, "https://dev.azure.com/acme/apps/_git/", "acme/apps/", func(t *testing.T) (*forgetest.World, string) {
		s := azuredevopstest.New(t)
		return s.World, s.URL
	}},
	{"bitbucket", workflowtest.Bitbucket, "https://bitbucket.org/acme/", "acme/", func(t *testing.T) (*forgetest.World, string) {
		s := bitbuckettest.New(t)
		return s.World, s.URL
	}},
}

// newWorkflowForge starts a forge with empty repositories.
func newWorkflowForge(t *testing.T, kind workflowKind, repositories ...string) *workflowForge {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	f := &workflowForge{T: t, kind: kind, dir: t.TempDir()}
	var api string
	f.world, api = kind.start(t)
	f.world.Grant(workflowToken, "kalypso-bot", "admin")
	at, err := url.Parse(api)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(at)
	// It has connections of its own: when other tests end, httptest.Server.Close closes those of http.DefaultTransport, now and then one in use.
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	proxy.Transport = own
	f.api = proxy
	f.git = &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + f.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bot", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	}
	for _, name := range repositories {
		f.run("init", "-q", "--bare", "-b", "main", f.bare(name))
	}
	f.listen()
	return f
}

// bare is the folder of a repository.
func (f *workflowForge) bare(name string) string {
	return filepath.Join(f.dir, filepath.FromSlash(f.kind.path)+name+".git")
}

// listen serves by https behind a proxy, so that programs come here for every host.
func (f *workflowForge) listen() {
	f.Helper()
	host, err := url.Parse(f.kind.url)
	if err != nil {
		f.Fatal(err)
	}
	certificate := selfSigned(f.T, host.Host)
	server := httptest.NewUnstartedServer(f)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	f.Cleanup(server.Close)
	proxy := httptest.NewServer(tunnel(server.Listener.Addr().String()))
	f.Cleanup(proxy.Close)
	trusted := filepath.Join(f.TempDir(), "trusted.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(trusted, text, 0o600); err != nil {
		f.Fatal(err)
	}
	f.env = []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + trusted, "GIT_SSL_CAINFO=" + trusted}
}

// selfSigned is a certificate for a host, and for that of its API.
func selfSigned(t *testing.T, host string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host, "api." + host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	text, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}
}

// tunnel is a proxy that connects everybody to one address.
func tunnel(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := net.Dial("tcp", to)
		if err != nil || r.Method != http.MethodConnect {
			http.Error(w, "only https is here", http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	})
}

// ServeHTTP answers git itself, and lets the fake answer everything else.
func (f *workflowForge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, service := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack"} {
		place, ok := strings.CutSuffix(r.URL.Path, service)
		if !ok {
			continue
		}
		if _, password, _ := r.BasicAuth(); password != workflowToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			http.Error(w, "not for you", http.StatusUnauthorized)
			return
		}
		r.URL.Path = strings.TrimSuffix(strings.Replace(place, "/_git/", "/", 1), ".git") + ".git" + service
		f.git.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	f.api.ServeHTTP(w, r)
	f.settle()
}

// each calls do for every repository, with the branches that it has.
func (f *workflowForge) each(do func(path, bare string, branches map[string]string)) {
	found, err := filepath.Glob(filepath.Join(f.dir, filepath.FromSlash(f.kind.path), "*.git"))
	if err != nil {
		f.Error(err)
	}
	for _, bare := range found {
		branches := map[string]string{}
		for line := range strings.Lines(f.run("-C", bare, "for-each-ref", "--format=%(refname:strip=2) %(objectname)", "refs/heads")) {
			branch, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
			branches[branch] = commit
		}
		do(f.kind.path+strings.TrimSuffix(filepath.Base(bare), ".git"), bare, branches)
	}
}

// look tells the world which repositories there are, and where their branches are.
func (f *workflowForge) look() {
	f.each(func(path, _ string, branches map[string]string) {
		f.world.Lock()
		f.world.AddRepo(path) // does nothing to one that it knows
		known := f.world.Repo(path).BranchNames()
		f.world.Unlock()
		for branch, commit := range branches {
			f.world.Push(path, branch, commit, "kalypso-bot")
		}
		for _, branch := range known {
			if branches[branch] == "" {
				f.world.Push(path, branch, "", "kalypso-bot")
			}
		}
	})
}

// settle does in the repositories what was done in the world: a merge moves the base to the head, which is always ahead of it here.
func (f *workflowForge) settle() {
	f.each(func(path, bare string, branches map[string]string) {
		f.world.Lock()
		defer f.world.Unlock()
		r := f.world.Repo(path)
		for _, c := range r.PullRequests {
			if c.State == forge.Merged && r.Branches[c.Base.Branch] == c.MergeCommit && c.MergeCommit != c.Head.Commit {
				c.MergeCommit, r.Branches[c.Base.Branch] = c.Head.Commit, c.Head.Commit
			}
		}
		for branch, commit := range r.Branches {
			if branches[branch] != commit {
				f.run("-C", bare, "update-ref", "refs/heads/"+branch, commit)
			}
		}
		for branch := range branches {
			if r.Branches[branch] == "" {
				f.run("-C", bare, "update-ref", "-d", "refs/heads/"+branch)
			}
		}
	})
}

// run runs git without anybody's configuration, and returns what it says.
func (f *workflowForge) run(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Errorf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}
