// Package remotetest serves charts to tests: a repository with an index, and an OCI registry, both in memory.
package remotetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Files maps the paths in a chart to contents.
type Files map[string]string

// Chart returns the files of a chart with one manifest and the files in more.
func Chart(name, version string, more Files) Files {
	files := Files{
		"Chart.yaml":        fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version),
		"templates/cm.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%s}\n", name, version),
	}
	maps.Copy(files, more)
	return files
}

// Pack packs a chart into an archive, like helm package. Equal files make equal bytes.
func Pack(name string, files Files) []byte {
	var headers []tar.Header
	var contents []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		headers = append(headers, tar.Header{Name: name + "/" + path, Mode: 0o644, Size: int64(len(files[path]))})
		contents = append(contents, files[path])
	}
	return Tape(headers, contents)
}

// Tape creates an archive with the given headers and contents.
func Tape(headers []tar.Header, contents []string) []byte {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	tape := tar.NewWriter(zipped)
	for i, h := range headers {
		must(tape.WriteHeader(&h))
		_, err := tape.Write([]byte(contents[i]))
		must(err)
	}
	must(tape.Close())
	must(zipped.Close())
	return b.Bytes()
}

// must panics on errors of the test itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Digest returns the digest of a content.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Server serves charts below / as a repository with an index, and below /v2/ as a registry.
// It is safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	archives map[string][]byte            // by "name-version.tgz"
	versions map[string]map[string][]byte // archives by name and version
	// user and password are required by every request. Empty for none.
	user, password string
	fail           int
	requests       []string
}

// Add adds a version of a chart.
func (s *Server) Add(name, version string, archive []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions == nil {
		s.archives, s.versions = map[string][]byte{}, map[string]map[string][]byte{}
	}
	if s.versions[name] == nil {
		s.versions[name] = map[string][]byte{}
	}
	s.archives[name+"-"+version+".tgz"] = archive
	s.versions[name][version] = archive
}

// Protect requires a user and password from now on.
func (s *Server) Protect(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.password = user, password
}

// Fail answers all requests with a status from now on. 0 ends that.
func (s *Server) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = status
}

// Requests returns the paths requested since its last call.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// ServeHTTP serves both the repository and the registry.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.Path)
	if s.fail != 0 {
		w.WriteHeader(s.fail)
		return
	}
	if user, password, _ := r.BasicAuth(); s.user != "" && (user != s.user || password != s.password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/v2/"); ok {
		s.registry(w, rest)
		return
	}
	if r.URL.Path == "/index.yaml" {
		s.write(w, "text/yaml", s.index())
		return
	}
	archive, ok := s.archives[strings.TrimPrefix(r.URL.Path, "/archives/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	s.write(w, "application/gzip", archive)
}

func (s *Server) write(w http.ResponseWriter, contentType string, content []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Header().Set("Docker-Content-Digest", Digest(content))
	_, _ = w.Write(content)
}

func (s *Server) index() []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nentries:\n")
	for _, name := range slices.Sorted(maps.Keys(s.versions)) {
		fmt.Fprintf(&b, "  %s:\n", name)
		for _, version := range slices.Sorted(maps.Keys(s.versions[name])) {
			digest := strings.TrimPrefix(Digest(s.versions[name][version]), "sha256:")
			fmt.Fprintf(&b, "    - {name: %s, version: %q, urls: [archives/%s-%s.tgz], digest: %s}\n", name, version, name, version, digest)
		}
	}
	return b.Bytes()
}

// tagsOf returns the tags of a chart, sorted.
func (s *Server) tagsOf(name string) []string {
	var tags []string
	for version := range s.versions[name] {
		tags = append(tags, strings.ReplaceAll(version, "+", "_"))
	}
	slices.Sort(tags)
	return tags
}

// registry answers "charts/<name>/tags/list", ".../manifests/<tag>" and ".../blobs/<digest>".
func (s *Server) registry(w http.ResponseWriter, path string) {
	repository, what, _ := strings.Cut(strings.TrimPrefix(path, "charts/"), "/")
	tags := map[string][]byte{} // by tag and digest
	blobs := map[string][]byte{Digest([]byte("{}")): []byte("{}")}
	for version, archive := range s.versions[repository] {
		manifest, _ := json.Marshal(map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": map[string]any{"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": Digest([]byte("{}")), "size": 2},
			"layers": []any{map[string]any{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": Digest(archive), "size": len(archive)}},
		})
		tags[strings.ReplaceAll(version, "+", "_")], tags[Digest(manifest)] = manifest, manifest
		blobs[Digest(archive)] = archive
	}
	kind, name, _ := strings.Cut(what, "/")
	switch content, ok := tags[name], kind == "manifests"; {
	case kind == "tags" && len(tags) > 0:
		list, _ := json.Marshal(map[string]any{"name": "charts/" + repository, "tags": s.tagsOf(repository)})
		s.write(w, "application/json", list)
	case ok && content != nil:
		s.write(w, "application/vnd.oci.image.manifest.v1+json", content)
	case kind == "blobs" && blobs[name] != nil:
		s.write(w, "application/octet-stream", blobs[name])
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
