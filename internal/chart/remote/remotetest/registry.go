package remotetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Registry is an OCI registry in memory, for images and charts: it accepts and serves manifests and blobs as
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md says, and refuses a manifest whose contents it lacks.
// It is safe for concurrent use.
type Registry struct {
	mu        sync.Mutex
	manifests map[string]manifest // by "repository@digest" and "repository:tag"
	blobs     map[string][]byte   // by "repository@digest"
	writes    int
	// writable is how many more writes succeed; negative means all.
	writable int
}

type manifest struct {
	mediaType string
	content   []byte
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{manifests: map[string]manifest{}, blobs: map[string][]byte{}, writable: -1}
}

// FailAfter makes the registry fail after some more writes. Negative ends that.
func (r *Registry) FailAfter(writes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writable = writes
}

// Writes returns how many manifests and blobs were stored.
func (r *Registry) Writes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes
}

// List returns the tags and their digests, as "repository:tag@digest", sorted.
func (r *Registry) List() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for name, m := range r.manifests {
		if !strings.Contains(name, "@") {
			all = append(all, name+"@"+Digest(m.content))
		}
	}
	slices.Sort(all)
	return all
}

// AddImage adds an image with one layer for each of some platforms, and returns its digest: that of an index unless there is one platform.
func (r *Registry) AddImage(repository, tag, content string, platforms ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var images []map[string]any
	digest := ""
	for _, platform := range append(platforms, "amd64")[:max(len(platforms), 1)] {
		layer := []byte(content + " for " + platform)
		config := fmt.Appendf(nil, `{"architecture":%q,"os":"linux","rootfs":{"type":"layers","diff_ids":[]}}`, platform)
		text := encode(map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": Digest(config), "size": len(config)},
			"layers": []any{map[string]any{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": Digest(layer), "size": len(layer)}},
		})
		digest = Digest(text)
		r.blobs[repository+"@"+Digest(layer)], r.blobs[repository+"@"+Digest(config)] = layer, config
		r.manifests[repository+"@"+digest] = manifest{"application/vnd.oci.image.manifest.v1+json", text}
		images = append(images, map[string]any{
			"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": len(text),
			"platform": map[string]any{"architecture": platform, "os": "linux"},
		})
	}
	if len(images) > 1 {
		text := encode(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": images})
		digest = Digest(text)
		r.manifests[repository+"@"+digest] = manifest{"application/vnd.oci.image.index.v1+json", text}
	}
	r.manifests[repository+":"+tag] = r.manifests[repository+"@"+digest]
	return digest
}

// AddLarge adds an image that announces a layer of a size.
func (r *Registry) AddLarge(repository, tag string, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	config := []byte("{}")
	r.blobs[repository+"@"+Digest(config)] = config
	r.manifests[repository+":"+tag] = manifest{"application/vnd.oci.image.manifest.v1+json", encode(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": Digest(config), "size": len(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": Digest(nil), "size": size}},
	})}
	r.manifests[repository+"@"+Digest(r.manifests[repository+":"+tag].content)] = r.manifests[repository+":"+tag]
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	must(err)
	return text
}

// ServeHTTP serves the registry.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	must(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	path := strings.TrimPrefix(request.URL.Path, "/v2/")
	write := request.Method == http.MethodPut
	if write && r.writable == 0 {
		http.Error(w, "the disk is full", http.StatusInsufficientStorage)
		return
	}
	status := http.StatusOK
	switch {
	case path == "":
	case strings.HasSuffix(path, "/blobs/uploads/") && request.Method == http.MethodPost:
		w.Header().Set("Location", "/v2/"+path+"one")
		status = http.StatusAccepted
	case strings.HasSuffix(path, "/blobs/uploads/one") && write:
		status = r.putBlob(strings.TrimSuffix(path, "/blobs/uploads/one"), request.URL.Query().Get("digest"), body)
	case strings.Contains(path, "/blobs/"):
		repository, digest, _ := strings.Cut(path, "/blobs/")
		status = r.serve(w, request, "application/octet-stream", r.blobs[repository+"@"+digest])
	case strings.Contains(path, "/manifests/"):
		repository, reference, _ := strings.Cut(path, "/manifests/")
		if write {
			status = r.putManifest(repository, reference, manifest{request.Header.Get("Content-Type"), body})
			break
		}
		m := r.manifests[repository+":"+reference]
		if strings.Contains(reference, ":") {
			m = r.manifests[repository+"@"+reference]
		}
		status = r.serve(w, request, m.mediaType, m.content)
	case strings.HasSuffix(path, "/tags/list"):
		status = r.serve(w, request, "application/json", r.tags(strings.TrimSuffix(path, "/tags/list")))
	default:
		status = http.StatusNotFound
	}
	if write && status == http.StatusCreated {
		r.writes++
		r.writable = max(r.writable-1, min(r.writable, -1))
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
}

func (r *Registry) serve(w http.ResponseWriter, request *http.Request, mediaType string, content []byte) int {
	if content == nil {
		return http.StatusNotFound
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Header().Set("Docker-Content-Digest", Digest(content))
	if request.Method == http.MethodGet {
		_, _ = w.Write(content)
	}
	return http.StatusOK
}

func (r *Registry) putBlob(repository, digest string, content []byte) int {
	if Digest(content) != digest {
		return http.StatusBadRequest
	}
	r.blobs[repository+"@"+digest] = content
	return http.StatusCreated
}

func (r *Registry) putManifest(repository, reference string, m manifest) int {
	var parts struct {
		Config            struct{ Digest string }
		Layers, Manifests []struct{ Digest string }
	}
	must(json.Unmarshal(m.content, &parts))
	for _, blob := range append(parts.Layers, parts.Config) {
		if _, ok := r.blobs[repository+"@"+blob.Digest]; !ok && blob.Digest != "" {
			return http.StatusBadRequest
		}
	}
	for _, image := range parts.Manifests {
		if _, ok := r.manifests[repository+"@"+image.Digest]; !ok {
			return http.StatusBadRequest
		}
	}
	r.manifests[repository+"@"+Digest(m.content)] = m
	if !strings.Contains(reference, ":") {
		r.manifests[repository+":"+reference] = m
	}
	return http.StatusCreated
}

func (r *Registry) tags(repository string) []byte {
	var tags []string
	for _, name := range slices.Sorted(maps.Keys(r.manifests)) {
		if tag, ok := strings.CutPrefix(name, repository+":"); ok {
			tags = append(tags, tag)
		}
	}
	if tags == nil {
		return nil
	}
	return encode(map[string]any{"name": repository, "tags": tags})
}
