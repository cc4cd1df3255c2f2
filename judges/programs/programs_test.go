package programs

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/solution/registry/embedded"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const user, password = "judge", "correct-horse"

// world is a server's registry with a signed version, and programs that know its credential.
type world struct {
	t          *testing.T
	programs   string // their folder
	repository string // HOST/acme/shop
	version    *registry.Stored
	tag        string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := httptest.NewServer(open(t))
	t.Cleanup(server.Close)
	w := &world{t: t, programs: t.TempDir(), repository: strings.TrimPrefix(server.URL, "http://") + "/acme/shop", tag: "1.2.3"}
	for _, program := range []string{"oras.land/oras/cmd/oras", "github.com/google/go-containerregistry/cmd/crane"} {
		if out, err := exec.Command("go", "build", "-o", w.programs, program).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program, err, out)
		}
	}
	host, _, _ := strings.Cut(w.repository, "/")
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	if err := os.WriteFile(filepath.Join(w.programs, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, host, auth), 0o600); err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	released, err := store(t, "oci://"+w.repository).Release(t.Context(), sealed(t), registry.Release{Latest: true, Tags: []string{w.tag}, Key: key})
	if err != nil || !released.Attested {
		t.Fatalf("got %+v, %v", released, err)
	}
	w.version = released.Stored
	return w
}

// run returns what a program prints.
func (w *world) run(program string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(w.programs, program), args...)
	cmd.Dir, cmd.Env = w.programs, append(os.Environ(), "DOCKER_CONFIG="+w.programs, "HOME="+w.programs)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, failed.String())
	}
	return string(out)
}

// open opens an empty registry, which asks for a credential as the server does.
func open(t *testing.T) *embedded.Registry {
	t.Helper()
	r, err := embedded.Open(t.Context(), embedded.Options{
		Dir: filepath.Join(t.TempDir(), "registry"), Size: 1 << 30, Log: slog.New(slog.DiscardHandler),
		Admit: func(r *http.Request, _ embedded.Action) (context.Context, string, error) {
			if name, given, _ := r.BasicAuth(); name != user || given != password {
				return nil, "", &embedded.Refusal{Status: http.StatusUnauthorized, Code: "UNAUTHORIZED", Message: "no"}
			}
			return r.Context(), user, nil
		},
		Record: func(context.Context, embedded.Action, string, string) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func store(t *testing.T, place string) *registry.Store {
	t.Helper()
	at, err := registry.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Open(&remote.Client{
		PlainHTTP: func(string) bool { return true },
		Credential: func(context.Context, string) (remote.Credential, error) {
			return remote.Credential{User: user, Password: secret.New(password)}, nil
		},
	}, at, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sealed(t *testing.T) *solution.Version {
	t.Helper()
	input := func(name, digit string) solution.Input {
		return solution.Input{Repository: "https://git.example.com/acme/" + name, Branch: "dev", Commit: strings.Repeat(digit, 40)}
	}
	v, err := solution.Seal(solution.Descriptor{
		Application: "shop", Environment: "dev", Merged: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Inputs:   solution.Inputs{Source: input("shop", "a"), GitOps: input("shop-gitops", "b")},
		Targets:  []solution.Target{{Name: "east", Folder: "east", Objects: 1}},
		Checks:   solution.Checks{Policy: solution.PolicyBuiltIn, Findings: []check.Finding{}},
		Renderer: solution.Renderer{Name: "kalypso", Version: "v1.2.3"},
	}, []solution.File{{Path: "east/manifests.yaml", Content: []byte("value: one\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPrograms read a published version by its tag and digest, find its attestation, and copy both.
func TestPrograms(t *testing.T) {
	w := newWorld(t)
	tagged, agreed := w.repository+":"+w.tag, 0
	same := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
			return
		}
		agreed++
	}
	same("crane digest", strings.TrimSpace(w.run("crane", "digest", tagged)), w.version.Artifact)
	manifest := w.run("crane", "manifest", w.repository+"@"+w.version.Artifact)
	same("oras manifest fetch", w.run("oras", "manifest", "fetch", "--plain-http", tagged), manifest)
	if tags := strings.Fields(w.run("crane", "ls", w.repository)); len(tags) < 2 {
		t.Errorf("crane ls: %q", tags)
	}
	var layers struct {
		Layers []struct{ Digest string }
	}
	if err := json.Unmarshal([]byte(manifest), &layers); err != nil || len(layers.Layers) == 0 {
		t.Fatalf("%v: %s", err, manifest)
	}
	for _, l := range layers.Layers {
		same("blob "+l.Digest, w.run("oras", "blob", "fetch", "--plain-http", "--output", "-", w.repository+"@"+l.Digest),
			w.run("crane", "blob", w.repository+"@"+l.Digest))
	}
	if found := w.run("oras", "discover", "--plain-http", "--format", "json", tagged); !strings.Contains(found, "sigstore.bundle") {
		t.Errorf("oras discover finds no attestation: %s", found)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	w.run("oras", "copy", "--recursive", "--from-plain-http", tagged, "--to-oci-layout", copied+":"+w.tag)
	again, err := store(t, copied).Get(t.Context(), w.version.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	same("oras copy", again.Artifact, w.version.Artifact)
	if bundles, err := store(t, copied).Bundles(t.Context(), again); err != nil || len(bundles) != 1 {
		t.Errorf("the copy has %d attestations, %v", len(bundles), err)
	}
	t.Logf("%d agreed", agreed)
}
