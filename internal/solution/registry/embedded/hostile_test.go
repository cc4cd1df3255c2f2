package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
	"github.com/kalypso-io/kalypso/internal/solution/registry/embedded"
)

// files counts the files below a folder of the registry.
func (w *world) files(folder string) (n int) {
	w.Helper()
	err := filepath.WalkDir(filepath.Join(w.o.Dir, folder), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.o.Size = embedded.MaxBlob + 256<<10
	w.crash()
	large := strings.Repeat("x", embedded.MaxBlob)
	w.want(http.StatusRequestEntityTooLarge, http.MethodPost, "/v2/a/blobs/uploads/?digest="+digest.FromString(large+"x").String(), large+"x")
	// A client that does not say how much it sends is stopped at the limit.
	answer, _ := w.want(http.StatusAccepted, http.MethodPost, "/v2/a/blobs/uploads/", "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, w.server.URL+answer.Header.Get("Location"), io.MultiReader(strings.NewReader(large), strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("ann", password)
	streamed, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = streamed.Body.Close()
	if streamed.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a stream: %d", streamed.StatusCode)
	}
	w.want(http.StatusRequestEntityTooLarge, http.MethodPut, "/v2/a/manifests/v1", strings.Repeat(" ", embedded.MaxManifest+1), imageManifest, ocispec.MediaTypeImageManifest)

	// The quota holds for blobs and for many small files.
	w.blob("a", large)
	text := strings.Repeat("y", 2<<20)
	_, message := w.want(http.StatusInsufficientStorage, http.MethodPost, "/v2/a/blobs/uploads/?digest="+digest.FromString(text).String(), text)
	if !strings.Contains(message, "registry.size") {
		t.Errorf("got %s", message)
	}
	full := 0
	for i := range 70 {
		small := fmt.Sprint(i)
		if answer, _ := w.send(http.MethodPost, "/v2/a/blobs/uploads/?digest="+digest.FromString(small).String(), small); answer.StatusCode == http.StatusInsufficientStorage {
			full++
		}
	}
	if used := w.registry.Used(); full == 0 || used > w.o.Size {
		t.Errorf("%d small blobs were refused, and %d of %d bytes are used", full, used, w.o.Size)
	}
}

// TestAnnouncedUploadsHaveTheirSpace, whatever others send meanwhile.
func TestAnnouncedUploadsHaveTheirSpace(t *testing.T) {
	w := newWorld(t)
	w.o.Size = 1 << 20
	w.crash()
	text := strings.Repeat("x", 700<<10)
	begun, rest := make(chan struct{}), make(chan struct{})
	r := httptest.NewRequest(http.MethodPost, "/v2/a/blobs/uploads/?digest="+digest.FromString(text).String(), &slow{text: text, begun: begun, rest: rest})
	r.ContentLength = int64(len(text))
	r.SetBasicAuth("ann", password)
	out, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		w.registry.ServeHTTP(out, r)
	}()
	<-begun
	other := strings.Repeat("y", 700<<10)
	w.want(http.StatusInsufficientStorage, http.MethodPost, "/v2/a/blobs/uploads/?digest="+digest.FromString(other).String(), other)
	close(rest)
	<-done
	if out.Code != http.StatusCreated {
		t.Errorf("got %d: %s", out.Code, out.Body)
	}
	if got, want := w.registry.Used(), int64(700<<10+4<<10); got != want {
		t.Errorf("%d bytes are counted, want %d", got, want)
	}
}

// slow is a content that waits before it is sent.
type slow struct {
	text        string
	begun, rest chan struct{}
	reader      io.Reader
}

func (s *slow) Read(p []byte) (int, error) {
	if s.reader == nil {
		close(s.begun)
		<-s.rest
		s.reader = strings.NewReader(s.text)
	}
	return s.reader.Read(p)
}

// TestTheDiskStaysUsable: pushes are refused while something else fills the disk.
func TestTheDiskStaysUsable(t *testing.T) {
	w := newWorld(t)
	w.o.Free = func() (uint64, bool) { return 100 << 20, true }
	w.crash()
	w.want(http.StatusInsufficientStorage, http.MethodPost, "/v2/a/blobs/uploads/", "")
}

// TestUploadsAreLimited for a client, and those that no request uses end.
func TestUploadsAreLimited(t *testing.T) {
	w := newWorld(t)
	begin := func(status int) string {
		t.Helper()
		answer, _ := w.want(status, http.MethodPost, "/v2/a/blobs/uploads/", "")
		return answer.Header.Get("Location")
	}
	first := begin(http.StatusAccepted)
	w.want(http.StatusAccepted, http.MethodPatch, first, "abc")
	for range embedded.MaxUploadsPerClient - 1 {
		begin(http.StatusAccepted)
	}
	begin(http.StatusTooManyRequests)
	w.want(http.StatusTooManyRequests, http.MethodPut, "/v2/a/manifests/1", "its body is in memory, so it counts before it is read")
	if answer, _ := w.send(http.MethodPost, "/v2/a/blobs/uploads/", "", "Authorization", "Basic "+basic("ben", password)); answer.StatusCode != http.StatusAccepted {
		t.Errorf("another client: %d", answer.StatusCode)
	}
	// An upload is its client's.
	if answer, _ := w.send(http.MethodPatch, first, "x", "Authorization", "Basic "+basic("ben", password)); answer.StatusCode != http.StatusNotFound {
		t.Errorf("the upload of another client: %d", answer.StatusCode)
	}
	w.now = w.now.Add(time.Hour)
	begin(http.StatusAccepted)
	w.want(http.StatusNotFound, http.MethodPatch, first, "def")
	if n := w.files("uploads"); n > 0 {
		t.Errorf("%d files of uploads are left", n)
	}
}

// TestAClientThatDisappears leaves the upload as it was.
func TestAClientThatDisappears(t *testing.T) {
	w := newWorld(t)
	answer, _ := w.want(http.StatusAccepted, http.MethodPost, "/v2/a/blobs/uploads/", "")
	at := answer.Header.Get("Location")
	w.want(http.StatusAccepted, http.MethodPatch, at, "abc")
	used := w.registry.Used()
	r := httptest.NewRequest(http.MethodPatch, at, io.MultiReader(strings.NewReader("defg"), broken{}))
	r.SetBasicAuth("ann", password)
	out := httptest.NewRecorder()
	w.registry.ServeHTTP(out, r)
	if out.Code != http.StatusBadRequest || w.registry.Used() != used {
		t.Errorf("%d, %d bytes more", out.Code, w.registry.Used()-used)
	}
	w.want(http.StatusCreated, http.MethodPut, at+"?digest="+digest.FromString("abcd").String(), "d")
}

// broken is a connection that ends.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestACrashInAPush leaves nothing of it, and everything that was complete.
func TestACrashInAPush(t *testing.T) {
	w := newWorld(t)
	released, err := w.store(password).Release(t.Context(), version(t, "shop", "1", "one"), registry.Release{Latest: true})
	if err != nil {
		t.Fatal(err)
	}
	blobs, used := w.files("blobs"), w.registry.Used()
	// At each step of the next push: a part of a blob, a file without its row, and blobs without their manifest.
	answer, _ := w.want(http.StatusAccepted, http.MethodPost, "/v2/acme/shop/blobs/uploads/", "")
	w.want(http.StatusAccepted, http.MethodPatch, answer.Header.Get("Location"), "abc")
	orphan := filepath.Join(w.o.Dir, "blobs", "ab", "ab"+strings.Repeat("0", 62))
	if err := errors.Join(os.MkdirAll(filepath.Dir(orphan), 0o700), os.WriteFile(orphan, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	text := w.manifest("acme/shop", "never")
	w.crash()
	w.want(http.StatusNotFound, http.MethodPatch, answer.Header.Get("Location"), "def")
	if n := w.files("uploads"); n > 0 {
		t.Errorf("%d files of uploads are left", n)
	}
	if _, err := os.Stat(orphan); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that the database does not have: %v", err)
	}
	if found, err := w.store("").Get(t.Context(), "dev"); err != nil || found.Artifact != released.Stored.Artifact {
		t.Errorf("dev is %v, %v", found, err)
	}
	// The client can go on with the blobs that it pushed for some time.
	w.now = w.now.Add(23 * time.Hour)
	w.cleanUp()
	w.want(http.StatusOK, http.MethodHead, "/v2/acme/shop/blobs/"+digest.FromString("never").String(), "")
	w.now = w.now.Add(2 * time.Hour)
	w.cleanUp()
	w.want(http.StatusNotFound, http.MethodHead, "/v2/acme/shop/blobs/"+digest.FromString("never").String(), "")
	_, message := w.want(http.StatusNotFound, http.MethodPut, "/v2/acme/shop/manifests/v1", text, imageManifest, ocispec.MediaTypeImageManifest)
	if !strings.Contains(message, "MANIFEST_BLOB_UNKNOWN") {
		t.Errorf("got %s", message)
	}
	if w.files("blobs") != blobs || w.registry.Used() != used {
		t.Errorf("%d files with %d bytes are left, want %d with %d", w.files("blobs"), w.registry.Used(), blobs, used)
	}
}

// TestALostFileIsPushedAgain, as part of the same artifact.
func TestALostFileIsPushedAgain(t *testing.T) {
	w := newWorld(t)
	v := version(t, "shop", "1", "one")
	released, err := w.store(password).Release(t.Context(), v, registry.Release{Latest: true})
	if err != nil {
		t.Fatal(err)
	}
	used := w.registry.Used()
	a, err := v.Artifact()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []digest.Digest{a.Layer.Digest, a.Manifest.Digest} {
		if err := os.Truncate(filepath.Join(w.o.Dir, "blobs", d.Encoded()[:2], d.Encoded()), 1); err != nil {
			t.Fatal(err)
		}
		w.want(http.StatusNotFound, http.MethodGet, "/v2/acme/shop/blobs/"+d.String(), "")
	}
	if err := w.overwrite(v, "dev"); err != nil {
		t.Fatal(err)
	}
	if found, err := w.store("").Get(t.Context(), "dev"); err != nil || found.Artifact != released.Stored.Artifact || w.registry.Used() != used {
		t.Errorf("%v, %v, %d bytes more", found, err, w.registry.Used()-used)
	}
}

// TestNothingIsStoredWithoutARecord.
func TestNothingIsStoredWithoutARecord(t *testing.T) {
	w := newWorld(t)
	text := w.manifest("a", "one")
	files, used := w.files("blobs"), w.registry.Used()
	record := w.o.Record
	w.o.Record = func(context.Context, embedded.Action, string, string) error { return errors.New("the ledger is away") }
	w.crash()
	_, message := w.want(http.StatusServiceUnavailable, http.MethodPut, "/v2/a/manifests/v1", text, imageManifest, ocispec.MediaTypeImageManifest)
	if strings.Contains(message, "ledger") {
		t.Errorf("the client learns %s", message)
	}
	w.want(http.StatusNotFound, http.MethodGet, "/v2/a/manifests/v1", "")
	if w.files("blobs") != files || w.registry.Used() != used {
		t.Errorf("%d files more, %d bytes more", w.files("blobs")-files, w.registry.Used()-used)
	}
	w.o.Record = record
	w.crash()
	w.want(http.StatusCreated, http.MethodPut, "/v2/a/manifests/v1", text, imageManifest, ocispec.MediaTypeImageManifest)
}

func TestHostileRequests(t *testing.T) {
	w := newWorld(t)
	good := w.manifest("a", "one")
	zeros := "sha256:" + strings.Repeat("0", 64)
	for _, tc := range []struct {
		status       int
		method, path string
	}{
		{http.StatusNotFound, http.MethodGet, "/v2/UPPER/tags/list"},
		{http.StatusNotFound, http.MethodGet, "/v2/a/../../etc/passwd"},
		{http.StatusNotFound, http.MethodGet, "/v2/a/blobs/sha256:../../../../etc/passwd"},
		{http.StatusBadRequest, http.MethodGet, "/v2/a/blobs/sha256:abc"},
		{http.StatusBadRequest, http.MethodPut, "/v2/a/manifests/sha256:abc"},
		{http.StatusBadRequest, http.MethodGet, "/v2/a/referrers/md5:abc"},
		{http.StatusBadRequest, http.MethodGet, "/v2/a/blobs/sha512:" + strings.Repeat("0", 128)},
		{http.StatusNotFound, http.MethodGet, "/v2/a%00b/tags/list"},
		{http.StatusNotFound, http.MethodGet, "/v2//tags/list"},
		{http.StatusNotFound, http.MethodGet, "/v2/a/manifests/-x"},
		{http.StatusNotFound, http.MethodGet, "/v2/a/manifests/" + strings.Repeat("x", 129)},
		{http.StatusNotFound, http.MethodPatch, "/v2/a/blobs/uploads/../../registry.db"},
		{http.StatusNotFound, http.MethodPatch, "/v2/a/blobs/uploads/AAAAAAAAAAAAAAAAAAAAAAAAAA"},
		{http.StatusNotFound, http.MethodGet, "/v2/_catalog"},
		{http.StatusNotFound, http.MethodGet, "/v2/none/tags/list"},
		{http.StatusNotFound, http.MethodGet, "/v2/a/blobs/" + zeros},
		{http.StatusNotFound, http.MethodGet, "/v2/a/manifests/" + zeros},
		{http.StatusBadRequest, http.MethodGet, "/v2/" + strings.Repeat("a", 201) + "/tags/list"},
		{http.StatusBadRequest, http.MethodGet, "/v2/a/tags/list?n=-1"},
		{http.StatusBadRequest, http.MethodGet, "/v2/a/tags/list?n=99999999999999999999"},
		{http.StatusMethodNotAllowed, http.MethodDelete, "/v2/a/manifests/v1"},
		{http.StatusMethodNotAllowed, http.MethodDelete, "/v2/a/blobs/" + zeros},
		{http.StatusMethodNotAllowed, http.MethodPut, "/v2/a/blobs/" + zeros},
	} {
		r := httptest.NewRequest(tc.method, "/v2/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(tc.path, "?")
		r.SetBasicAuth("ann", password)
		out := httptest.NewRecorder()
		w.registry.ServeHTTP(out, r)
		if out.Code != tc.status || !strings.Contains(out.Body.String(), `"errors"`) {
			t.Errorf("%s %s: got %d, want %d: %s", tc.method, tc.path, out.Code, tc.status, out.Body)
		}
	}
	config := fmt.Sprintf(`{"digest":%q,"size":2}`, digest.FromString("{}"))
	for text, status := range map[string]int{
		"":                    http.StatusBadRequest,
		"null":                http.StatusBadRequest,
		"[]":                  http.StatusBadRequest,
		`{"schemaVersion":2}`: http.StatusBadRequest,

		`{"schemaVersion":2,"config":{"digest":"sha256:../../x","size":2}}`:                                                              http.StatusBadRequest,
		`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","config":` + config + `}`:                              http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + config + `,"subject":{"digest":"x"}}`:                                                           http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + strings.Replace(config, "2}", "3}", 1) + `}`:                                                    http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + strings.Replace(config, "2}", "-1}", 1) + `}`:                                                   http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + config + `,"layers":[` + strings.Repeat(config+",", 128) + config + `]}`:                        http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + config + `,"subject":` + config + `,"annotations":{"a":"` + strings.Repeat("x", 16<<10) + `"}}`: http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + config + `,"manifests":[` + config + `]}`:                                                       http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + config + `,"x":[` + strings.Repeat("1,", 20_000) + `1]}`:                                        http.StatusBadRequest,
		`{"schemaVersion":2,"config":` + config + `,"artifactType":"` + strings.Repeat("x", 256) + `"}`:                                  http.StatusBadRequest,
		`{"schemaVersion":2,"config":{"digest":"` + zeros + `","size":2}}`:                                                               http.StatusNotFound,
		`{"schemaVersion":2,"artifactType":"` + solution.ArtifactType + `","config":` + config + `}`:                                     http.StatusBadRequest,

		`{"schemaVersion":2,"artifactType":"` + solution.ArtifactType + `","config":{"mediaType":"` + solution.DescriptorType + `",` + config[1:] + `,"layers":[{"mediaType":"` + solution.LayerType + `",` + config[1:] + `]}`: http.StatusBadRequest,
	} {
		w.want(status, http.MethodPut, "/v2/a/manifests/v1", text, imageManifest, ocispec.MediaTypeImageManifest)
	}
	w.want(http.StatusBadRequest, http.MethodPut, "/v2/a/manifests/v1", good, imageManifest, "application/json")
	w.want(http.StatusBadRequest, http.MethodPut, "/v2/a/manifests/"+zeros, good, imageManifest, ocispec.MediaTypeImageManifest)
	w.want(http.StatusNotFound, http.MethodGet, "/v2/a/manifests/v1", "")
	w.want(http.StatusCreated, http.MethodPut, "/v2/a/manifests/v1", good, imageManifest, ocispec.MediaTypeImageManifest)
	if recorded := len(w.recorded); recorded != 1 {
		t.Errorf("%d pushes are recorded: %q", recorded, w.recorded)
	}
}

// TestClientsAreAskedToAuthenticate, also if reading needs no credential, because many of them only ask once.
func TestClientsAreAskedToAuthenticate(t *testing.T) {
	w := newWorld(t)
	answer, err := http.Get(w.server.URL + "/v2/")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("%d, %q", answer.StatusCode, answer.Header.Get("WWW-Authenticate"))
	}
	w.want(http.StatusOK, http.MethodGet, "/v2/", "")
}

// TestOneOfManyGetsATag: of clients that push different artifacts to one tag at the same time, the others are refused.
func TestOneOfManyGetsATag(t *testing.T) {
	w := newWorld(t)
	var manifests []string
	for i := range 8 {
		manifests = append(manifests, w.manifest("a", fmt.Sprint("artifact ", i)))
	}
	var mu sync.Mutex
	got := map[int]int{}
	var wait sync.WaitGroup
	for _, text := range manifests {
		wait.Go(func() {
			answer, _ := w.send(http.MethodPut, "/v2/a/manifests/v1", text, imageManifest, ocispec.MediaTypeImageManifest)
			mu.Lock()
			defer mu.Unlock()
			got[answer.StatusCode]++
		})
	}
	wait.Wait()
	if got[http.StatusCreated] != 1 || got[http.StatusConflict] != 7 {
		t.Errorf("got %v", got)
	}
}
