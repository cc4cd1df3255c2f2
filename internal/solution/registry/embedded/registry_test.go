package embedded_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	oras "oras.land/oras-go/v2/registry/remote"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/provenance"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/solution/registry/embedded"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// world is a registry in a folder, with a server.
type world struct {
	*testing.T
	o        embedded.Options
	registry *embedded.Registry
	server   *httptest.Server
	// now is the time of the registry.
	now time.Time
	// recorded are the pushes and deletions.
	recorded []string
	// needed is why a solution version is not deleted.
	needed string
}

// password is the only one that may push.
const password = "correct-horse-battery"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	w.o = embedded.Options{
		Dir: filepath.Join(t.TempDir(), "registry"), Size: 64 << 20, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: func() time.Time { return w.now },
		Admit: func(r *http.Request, action embedded.Action) (context.Context, string, error) {
			user, given, _ := r.BasicAuth()
			if action != embedded.Pull && given != password {
				return nil, "", &embedded.Refusal{Status: http.StatusUnauthorized, Code: "UNAUTHORIZED", Message: "no"}
			}
			return r.Context(), user, nil
		},
		Record: func(_ context.Context, action embedded.Action, subject, _ string) error {
			if action == embedded.Delete {
				subject = "delete " + subject
			}
			w.recorded = append(w.recorded, subject)
			return nil
		},
		Needed: func(*solution.Descriptor) string { return w.needed },
	}
	w.start()
	t.Cleanup(func() {
		w.server.Close()
		_ = w.registry.Close()
	})
	return w
}

// start opens the folder, and serves it.
func (w *world) start() {
	w.Helper()
	var err error
	if w.registry, err = embedded.Open(w.Context(), w.o); err != nil {
		w.Fatal(err)
	}
	w.server = httptest.NewServer(w.registry)
}

// crash starts another registry on the folder, as if the process of the first one had been killed.
func (w *world) crash() {
	w.Helper()
	w.server.CloseClientConnections()
	w.server.Close()
	_ = w.registry.Close() // it only closes files
	w.start()
}

// cleanUp lets the registry clean up once.
func (w *world) cleanUp() {
	w.Helper()
	embedded.Sweep(w.T, w.registry)
}

func (w *world) host() string { return strings.TrimPrefix(w.server.URL, "http://") }

// store is what commands use.
func (w *world) store(pass string) *registry.Store {
	w.Helper()
	client := &remote.Client{
		PlainHTTP: func(string) bool { return true },
		Credential: func(context.Context, string) (remote.Credential, error) {
			return remote.Credential{User: "ann", Password: secret.New(pass)}, nil
		},
	}
	s, err := registry.Open(client, registry.Reference{Repository: w.host() + "/acme/shop"}, false)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// send sends a request of ann, and returns the answer with its body.
func (w *world) send(method, path string, body string, headers ...string) (*http.Response, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	r.SetBasicAuth("ann", password)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer, string(text)
}

// want sends a request, and checks the status.
func (w *world) want(status int, method, path, body string, headers ...string) (*http.Response, string) {
	w.Helper()
	answer, text := w.send(method, path, body, headers...)
	if answer.StatusCode != status {
		w.Errorf("%s %s: got %d, want %d: %s", method, path, answer.StatusCode, status, text)
	}
	return answer, text
}

// blob pushes a blob in one request.
func (w *world) blob(repository, text string) ocispec.Descriptor {
	w.Helper()
	d := digest.FromString(text)
	w.want(http.StatusCreated, http.MethodPost, "/v2/"+repository+"/blobs/uploads/?digest="+d.String(), text)
	return ocispec.Descriptor{MediaType: "text/plain", Digest: d, Size: int64(len(text))}
}

// manifest returns a manifest of two blobs, which are pushed.
func (w *world) manifest(repository, text string) string {
	w.Helper()
	config, layer := w.blob(repository, "{}"), w.blob(repository, text)
	out, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: []ocispec.Descriptor{layer},
	})
	if err != nil {
		w.Fatal(err)
	}
	return string(out)
}

// imageManifest is the header of manifests.
const imageManifest = "Content-Type"

// basic returns the credential of a header.
func basic(user, pass string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + pass))
}

// version returns a version of an application for dev.
func version(t *testing.T, application, commit, value string) *solution.Version {
	t.Helper()
	input := func(name, digit string) solution.Input {
		return solution.Input{Repository: "https://git.example.com/acme/" + name, Branch: "dev", Commit: strings.Repeat(digit, 40)}
	}
	v, err := solution.Seal(solution.Descriptor{
		Application: application, Environment: "dev", Merged: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Inputs:   solution.Inputs{Source: input("shop", "a"), GitOps: input("shop-gitops", commit)},
		Targets:  []solution.Target{{Name: "east", Folder: "east", Objects: 1}},
		Checks:   solution.Checks{Policy: solution.PolicyBuiltIn, Findings: []check.Finding{}},
		Renderer: solution.Renderer{Name: "kalypso", Version: "v1.2.3"},
	}, []solution.File{{Path: "east/manifests.yaml", Content: []byte("value: " + value + "\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestVersionsArePublished by the client of the commands, stay after a crash, and are not replaced. Only the environment's tag moves.
func TestVersionsArePublished(t *testing.T) {
	w := newWorld(t)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	release := func(v *solution.Version, tags ...string) *registry.Released {
		t.Helper()
		out, err := w.store(password).Release(t.Context(), v, registry.Release{Latest: true, Key: private, Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := release(version(t, "shop", "1", "one"), "1.0.0")
	if !one.New || !one.Moved || !one.Attested {
		t.Errorf("first: %+v", one)
	}
	two := release(version(t, "shop", "2", "two"))
	used := w.registry.Used()
	w.crash()
	if got := w.registry.Used(); got != used || used == 0 {
		t.Errorf("it counted %d bytes, and %d after a crash", used, got)
	}
	for tag, want := range map[string]string{
		"dev": two.Stored.Artifact, "dev-222222222222": two.Stored.Artifact, "dev-111111111111": one.Stored.Artifact, "1.0.0": one.Stored.Artifact,
		one.Stored.Artifact: one.Stored.Artifact,
	} {
		found, err := w.store("").Get(t.Context(), tag)
		if err != nil || found.Artifact != want {
			t.Errorf("%s: %v, %v", tag, found, err)
			continue
		}
		bundles, err := w.store("").Bundles(t.Context(), found)
		if err != nil || len(bundles) != 1 {
			t.Errorf("%s has %d bundles, %v", tag, len(bundles), err)
			continue
		}
		if err := provenance.Verify(bundles[0], found.Version, found.Artifact, public); err != nil {
			t.Error(err)
		}
	}
	if again := release(version(t, "shop", "2", "two")); again.New || again.Moved || again.Attested {
		t.Errorf("again: %+v", again)
	}
	if !slices.Contains(w.recorded, "acme/shop:dev-111111111111") || !slices.Contains(w.recorded, "acme/shop@"+one.Stored.Artifact) {
		t.Errorf("recorded: %q", w.recorded)
	}

	// A client that does not check is refused as well.
	for tag, v := range map[string]*solution.Version{
		"1.0.0": version(t, "shop", "3", "three"), "dev-111111111111": version(t, "shop", "3", "three"), "dev": version(t, "bank", "3", "three"),
	} {
		if err := w.overwrite(v, tag); err == nil || !strings.Contains(err.Error(), "409") || !strings.Contains(err.Error(), "tags are not moved") {
			t.Errorf("%s: %v", tag, err)
		}
	}
	if found, err := w.store("").Get(t.Context(), "dev"); err != nil || found.Artifact != two.Stored.Artifact {
		t.Errorf("dev is %v, %v", found, err)
	}
	if _, err := w.store("wrong").Release(t.Context(), version(t, "shop", "4", "four"), registry.Release{}); !errors.Is(err, remote.ErrCredential) {
		t.Errorf("with another password: %v", err)
	}
}

// overwrite pushes a version to a tag without looking at what it is.
func (w *world) overwrite(v *solution.Version, tag string) error {
	w.Helper()
	a, err := v.Artifact()
	if err != nil {
		w.Fatal(err)
	}
	for _, b := range []solution.Blob{a.Config, a.Layer} {
		w.blob("acme/shop", string(b.Content))
	}
	answer, text := w.send(http.MethodPut, "/v2/acme/shop/manifests/"+tag, string(a.Manifest.Content), imageManifest, ocispec.MediaTypeImageManifest)
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("%d %s", answer.StatusCode, text)
	}
	return nil
}

// TestClientsOfOthers: oras reads tags in pages and parts of blobs, and finds referrers by their type.
func TestClientsOfOthers(t *testing.T) {
	w := newWorld(t)
	text := w.manifest("acme/tool", "0123456789")
	for i := range 5 {
		w.want(http.StatusCreated, http.MethodPut, fmt.Sprintf("/v2/acme/tool/manifests/v%d", i), text, imageManifest, ocispec.MediaTypeImageManifest)
	}
	repository, err := oras.NewRepository(w.host() + "/acme/tool")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP, repository.TagListPageSize = true, 2
	var tags []string
	pages := 0
	err = repository.Tags(t.Context(), "", func(page []string) error {
		tags = append(tags, page...)
		pages++
		return nil
	})
	if err != nil || !slices.Equal(tags, []string{"v0", "v1", "v2", "v3", "v4"}) || pages != 3 {
		t.Errorf("%q in %d pages, %v", tags, pages, err)
	}
	found, err := repository.Resolve(t.Context(), "v3")
	if err != nil || found.Digest != digest.FromString(text) || found.MediaType != ocispec.MediaTypeImageManifest {
		t.Fatalf("%+v, %v", found, err)
	}
	layer := ocispec.Descriptor{Digest: digest.FromString("0123456789"), Size: 10}
	blob, err := repository.Blobs().Fetch(t.Context(), layer)
	if err != nil {
		t.Fatal(err)
	}
	defer blob.Close() //nolint:errcheck // it is only read
	if seeker, ok := blob.(io.Seeker); !ok {
		t.Error("parts cannot be read")
	} else if _, err := seeker.Seek(4, io.SeekStart); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(blob); err != nil || string(rest) != "456789" {
		t.Errorf("%q, %v", rest, err)
	}
	for given, want := range map[string]string{
		"bytes=2-3": "23", "bytes=8-": "89", "bytes=8-99": "89", "bytes=-2": "0123456789", "bytes=5-2": "0123456789", "bytes=0-1,4-5": "0123456789", "lines=1-2": "0123456789",
	} {
		if _, got := w.send(http.MethodGet, "/v2/acme/tool/blobs/"+layer.Digest.String(), "", "Range", given); got != want {
			t.Errorf("%s: got %q", given, got)
		}
	}
	w.want(http.StatusRequestedRangeNotSatisfiable, http.MethodGet, "/v2/acme/tool/blobs/"+layer.Digest.String(), "", "Range", "bytes=10-")

	config := w.blob("acme/tool", "{}")
	about, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "text/x-note", Config: config, Layers: []ocispec.Descriptor{config},
		Subject: &found, Annotations: map[string]string{"note": "yes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := w.want(http.StatusCreated, http.MethodPut, "/v2/acme/tool/manifests/"+digest.FromBytes(about).String(), string(about), imageManifest, ocispec.MediaTypeImageManifest)
	if answer.Header.Get("OCI-Subject") != found.Digest.String() {
		t.Error("the client does not know that the subject is known")
	}
	for kind, want := range map[string]int{"": 1, "text/x-note": 1, "text/x-other": 0} {
		var all []ocispec.Descriptor
		err := repository.Referrers(t.Context(), found, kind, func(some []ocispec.Descriptor) error {
			all = append(all, some...)
			return nil
		})
		if err != nil || len(all) != want || want == 1 && (all[0].ArtifactType != "text/x-note" || all[0].Annotations["note"] != "yes") {
			t.Errorf("%q: %+v, %v", kind, all, err)
		}
	}
	if got, err := content.FetchAll(t.Context(), repository, found); err != nil || !bytes.Equal(got, []byte(text)) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestUploadsInParts go on where they ended, and end with the right digest only.
func TestUploadsInParts(t *testing.T) {
	w := newWorld(t)
	begin := func() string {
		t.Helper()
		answer, _ := w.want(http.StatusAccepted, http.MethodPost, "/v2/acme/shop/blobs/uploads/", "")
		return answer.Header.Get("Location")
	}
	all := digest.FromString("abcdef").String()
	at := begin()
	if answer, _ := w.want(http.StatusAccepted, http.MethodPatch, at, "abc", "Content-Range", "0-2"); answer.Header.Get("Range") != "0-2" {
		t.Errorf("it has %s", answer.Header.Get("Range"))
	}
	w.want(http.StatusRequestedRangeNotSatisfiable, http.MethodPatch, at, "abc", "Content-Range", "0-2")
	w.want(http.StatusNotFound, http.MethodPatch, strings.Replace(at, "acme/shop", "acme/bank", 1), "x")
	w.want(http.StatusNoContent, http.MethodGet, at, "")
	w.want(http.StatusAccepted, http.MethodPatch, at, "de")
	w.want(http.StatusCreated, http.MethodPut, at+"?digest="+all, "f")
	if _, text := w.want(http.StatusOK, http.MethodGet, "/v2/acme/shop/blobs/"+all, ""); text != "abcdef" {
		t.Errorf("got %q", text)
	}
	w.want(http.StatusNotFound, http.MethodPatch, at, "x")
	w.want(http.StatusCreated, http.MethodPost, "/v2/acme/bank/blobs/uploads/?mount="+all+"&from=acme/shop", "")

	for _, wrong := range []string{digest.FromString("other").String(), "sha256:abc", "", "sha512:" + strings.Repeat("a", 128)} {
		used := w.registry.Used()
		_, text := w.want(http.StatusBadRequest, http.MethodPut, begin()+"?digest="+wrong, "abcdef")
		if !strings.Contains(text, "DIGEST_INVALID") {
			t.Errorf("%q: %s", wrong, text)
		}
		if got := w.registry.Used(); got != used {
			t.Errorf("%q: %d bytes are still counted", wrong, got-used)
		}
	}
	at = begin()
	w.want(http.StatusNoContent, http.MethodDelete, at, "")
	w.want(http.StatusNotFound, http.MethodGet, at, "")
	if left, err := os.ReadDir(filepath.Join(w.o.Dir, "uploads")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
