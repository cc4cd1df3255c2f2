package embedded_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// put pushes a manifest with a tag, or by its digest without one.
func (w *world) put(repository, tag, text string) (d string) {
	w.Helper()
	d = digest.FromString(text).String()
	if tag == "" {
		tag = d
	}
	w.want(http.StatusCreated, http.MethodPut, "/v2/"+repository+"/manifests/"+tag, text, imageManifest, ocispec.MediaTypeImageManifest)
	return d
}

// about returns a manifest that refers to another one.
func (w *world) about(repository, subject string) string {
	w.Helper()
	config := w.blob(repository, "{}")
	out, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "text/note", Config: config, Layers: []ocispec.Descriptor{},
		Subject: &ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(subject), Size: 1},
	})
	if err != nil {
		w.Fatal(err)
	}
	return string(out)
}

func TestDeletedManifestsMakeRoom(t *testing.T) {
	w := newWorld(t)
	empty := w.registry.Used()
	one := w.put("a", "v1", w.manifest("a", "one"))
	shared := w.put("b", "v1", w.manifest("b", "one"))
	about := w.put("a", "", w.about("a", one))
	w.want(http.StatusUnauthorized, http.MethodDelete, "/v2/a/manifests/"+one, "", "Authorization", "Basic "+basic("ann", "wrong"))
	w.want(http.StatusMethodNotAllowed, http.MethodDelete, "/v2/a/manifests/v1", "")
	w.want(http.StatusAccepted, http.MethodDelete, "/v2/a/manifests/"+one, "")
	w.want(http.StatusNotFound, http.MethodDelete, "/v2/a/manifests/"+one, "")
	for _, path := range []string{"/v2/a/manifests/v1", "/v2/a/manifests/" + one} {
		w.want(http.StatusNotFound, http.MethodGet, path, "")
	}
	w.want(http.StatusOK, http.MethodGet, "/v2/b/manifests/v1", "") // its blobs are those of another one, too
	if !slices.Contains(w.recorded, "delete a@"+one) {
		t.Errorf("recorded %q", w.recorded)
	}

	// What referred to it goes a week after it was pushed, and blobs that no manifest has go a day after.
	w.want(http.StatusOK, http.MethodGet, "/v2/a/manifests/"+about, "")
	w.want(http.StatusAccepted, http.MethodDelete, "/v2/b/manifests/"+shared, "")
	w.now = w.now.Add(8 * 24 * time.Hour)
	w.cleanUp()
	w.want(http.StatusNotFound, http.MethodGet, "/v2/a/manifests/"+about, "")
	if used := w.registry.Used(); used != empty || w.files("blobs") != 0 {
		t.Errorf("%d bytes in %d files are left", used-empty, w.files("blobs"))
	}
	w.crash()
	if used := w.registry.Used(); used != empty {
		t.Errorf("%d bytes are counted after a start", used)
	}
}

func TestNeededVersionsAreNotDeleted(t *testing.T) {
	w := newWorld(t)
	push := func(commit, value string) string {
		t.Helper()
		out, err := w.store(password).Release(t.Context(), version(t, "shop", commit, value), registry.Release{Latest: true})
		if err != nil {
			t.Fatal(err)
		}
		return out.Stored.Artifact
	}
	old, current := push("1", "one"), push("2", "two")
	refused := func(digest, why string) {
		t.Helper()
		if _, text := w.want(http.StatusConflict, http.MethodDelete, "/v2/acme/shop/manifests/"+digest, ""); !strings.Contains(text, why) {
			t.Errorf("got %s, want %s", text, why)
		}
	}
	refused(current, "it is what the environment dev has")
	w.needed = "the target east is pinned to it"
	refused(old, w.needed)
	w.needed = ""
	w.want(http.StatusAccepted, http.MethodDelete, "/v2/acme/shop/manifests/"+old, "")
	if found, err := w.store("").Get(t.Context(), "dev"); err != nil || found.Artifact != current {
		t.Errorf("dev is %v, %v", found, err)
	}
	if slices.Contains(w.recorded, "delete acme/shop@"+current) {
		t.Error("a refused deletion is recorded as done")
	}
}

// TestTheCurrentPlatformIsNotDeleted: its versions have no application, and no target is pinned to them.
func TestTheCurrentPlatformIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	w.needed = "it is not known which targets are pinned"
	push := func(commit, value string) string {
		t.Helper()
		v := version(t, "shop", commit, value)
		d := v.Descriptor
		d.Application, d.Inputs.Source, d.Inputs.Platform = "", solution.Input{}, &solution.PlatformInputs{Environment: d.Inputs.Source, Main: d.Inputs.Source}
		v, err := solution.Seal(d, v.Files)
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.store(password).Release(t.Context(), v, registry.Release{Latest: true})
		if err != nil {
			t.Fatal(err)
		}
		return out.Stored.Artifact
	}
	old, current := push("1", "one"), push("2", "two")
	if _, text := w.want(http.StatusConflict, http.MethodDelete, "/v2/acme/shop/manifests/"+current, ""); !strings.Contains(text, "it is what the environment dev has") {
		t.Errorf("got %s", text)
	}
	w.want(http.StatusAccepted, http.MethodDelete, "/v2/acme/shop/manifests/"+old, "")
}

// TestNamedManifestsStay, and those without a name for a week.
func TestNamedManifestsStay(t *testing.T) {
	w := newWorld(t)
	named := w.put("a", "v1", w.manifest("a", "one"))
	about := w.put("a", "", w.about("a", named))
	unnamed := w.put("a", "", w.manifest("a", "two"))
	w.now = w.now.Add(6 * 24 * time.Hour)
	w.cleanUp()
	for _, d := range []string{named, about, unnamed} {
		w.want(http.StatusOK, http.MethodGet, "/v2/a/manifests/"+d, "")
	}
	w.now = w.now.Add(2 * 24 * time.Hour)
	w.cleanUp()
	w.want(http.StatusNotFound, http.MethodGet, "/v2/a/manifests/"+unnamed, "")
	for _, d := range []string{named, about} {
		w.want(http.StatusOK, http.MethodGet, "/v2/a/manifests/"+d, "")
	}
}

// TestIndexesKeepTheirManifests, for which a name is not needed, until the index is deleted.
func TestIndexesKeepTheirManifests(t *testing.T) {
	w := newWorld(t)
	one := w.manifest("a", "one")
	index := `{"schemaVersion":2,"mediaType":"` + ocispec.MediaTypeImageIndex + `","manifests":[{"mediaType":"` + ocispec.MediaTypeImageManifest + `","digest":"` +
		digest.FromString(one).String() + `","size":` + fmt.Sprint(len(one)) + `}],"annotations":{"large":"` + strings.Repeat("x", 3<<20) + `"}}`
	push := func(status int) {
		t.Helper()
		w.want(status, http.MethodPut, "/v2/a/manifests/v1", index, "Content-Type", ocispec.MediaTypeImageIndex)
	}
	push(http.StatusNotFound)
	child := w.put("b", "", one)
	push(http.StatusNotFound) // another repository has it
	w.put("a", "", one)
	push(http.StatusCreated)
	push(http.StatusCreated)
	w.now = w.now.Add(8 * 24 * time.Hour)
	w.cleanUp()
	w.want(http.StatusNotFound, http.MethodGet, "/v2/b/manifests/"+child, "")
	w.want(http.StatusOK, http.MethodGet, "/v2/a/manifests/"+child, "")
	answer, text := w.want(http.StatusOK, http.MethodGet, "/v2/a/manifests/v1", "")
	if got := answer.Header.Get("Content-Type"); got != ocispec.MediaTypeImageIndex || text != index {
		t.Errorf("the index is a %s of %d bytes", got, len(text))
	}
	w.want(http.StatusAccepted, http.MethodDelete, "/v2/a/manifests/"+digest.FromString(index).String(), "")
	w.cleanUp()
	w.want(http.StatusNotFound, http.MethodGet, "/v2/a/manifests/"+child, "")
}

// TestAFullRegistryAcceptsWhatItHas: publishing again changes nothing, so it succeeds.
func TestAFullRegistryAcceptsWhatItHas(t *testing.T) {
	w := newWorld(t)
	text := w.manifest("a", "one")
	w.put("a", "v1", text)
	w.o.Size = w.registry.Used()
	w.crash()
	w.put("a", "v1", text)
	w.put("a", "", text)
	w.blob("a", "one")
	w.want(http.StatusInsufficientStorage, http.MethodPut, "/v2/a/manifests/v2", text, imageManifest, ocispec.MediaTypeImageManifest)
	w.want(http.StatusInsufficientStorage, http.MethodPost, "/v2/a/blobs/uploads/?digest="+digest.FromString("two").String(), "two")
	w.want(http.StatusInsufficientStorage, http.MethodPut, "/v2/b/manifests/v1", strings.Replace(text, "{", "{ ", 1), imageManifest, ocispec.MediaTypeImageManifest)
	if used := w.registry.Used(); used != w.o.Size {
		t.Errorf("%d bytes are counted, want %d", used, w.o.Size)
	}
}

// TestEnvironmentsHaveTheirTag, also if something else was pushed with it before.
func TestEnvironmentsHaveTheirTag(t *testing.T) {
	w := newWorld(t)
	other := w.put("acme/shop", "dev", w.manifest("acme/shop", "a tool"))
	w.now = w.now.Add(8 * 24 * time.Hour)
	if err := w.overwrite(version(t, "shop", "1", "one"), "dev"); err != nil {
		t.Error(err)
	}
	w.want(http.StatusOK, http.MethodGet, "/v2/acme/shop/manifests/"+other, "")
	w.cleanUp()
	w.want(http.StatusOK, http.MethodGet, "/v2/acme/shop/manifests/"+other, "") // clients may still read it
	_, text := w.want(http.StatusConflict, http.MethodPut, "/v2/acme/shop/manifests/dev", w.manifest("acme/shop", "a tool"), imageManifest, ocispec.MediaTypeImageManifest)
	if !strings.Contains(text, "tags are not moved") {
		t.Errorf("got %s", text)
	}
}

func TestRangesOfUploadsAreChecked(t *testing.T) {
	w := newWorld(t)
	answer, _ := w.want(http.StatusAccepted, http.MethodPost, "/v2/a/blobs/uploads/", "")
	at := answer.Header.Get("Location")
	for stated, status := range map[string]int{
		"0-1": http.StatusBadRequest, "0-3": http.StatusBadRequest, "0-": http.StatusBadRequest, "0": http.StatusBadRequest, "2-0": http.StatusRequestedRangeNotSatisfiable,
		"0-99999999999999999999": http.StatusBadRequest, "-1-1": http.StatusBadRequest, "bytes=0-2": http.StatusBadRequest, "0-2, 3-4": http.StatusBadRequest,
	} {
		w.want(status, http.MethodPatch, at, "abc", "Content-Range", stated)
		w.want(status, http.MethodPut, at+"?digest="+digest.FromString("abc").String(), "abc", "Content-Range", stated)
	}
	w.want(http.StatusAccepted, http.MethodPatch, at, "abc", "Content-Range", "bytes 0-2/*")
	w.want(http.StatusCreated, http.MethodPut, at+"?digest="+digest.FromString("abcd").String(), "d", "Content-Range", "3-3")
}
