package remote_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
)

// imageRegistry is a registry with one repository: manifests by tag or digest, blobs by digest, and the referrers of digests.
type imageRegistry struct {
	manifests, blobs map[string][]byte
	referrers        map[string]string
	broken           string // a part of paths that the registry cannot answer
}

func (r *imageRegistry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	path := strings.TrimPrefix(q.URL.Path, "/v2/shop/")
	kind, name, _ := strings.Cut(path, "/")
	var content []byte
	switch kind {
	case "manifests":
		content = r.manifests[name]
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	case "blobs":
		content = r.blobs[name]
		w.Header().Set("Content-Type", "application/octet-stream")
	case "referrers":
		content = []byte(r.referrers[name])
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
	}
	switch {
	case r.broken != "" && strings.Contains(path, r.broken):
		w.WriteHeader(http.StatusBadGateway)
	case len(content) == 0:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Docker-Content-Digest", remotetest.Digest(content))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if q.Method != http.MethodHead {
			_, _ = w.Write(content)
		}
	}
}

// put adds a manifest with a layer, at a tag or, without one, its digest, which it returns.
func (r *imageRegistry) put(tag, mediaType, annotations string, blobs ...string) string {
	var layers []string
	for _, b := range blobs {
		digest := remotetest.Digest([]byte(b))
		r.blobs[digest] = []byte(b)
		layers = append(layers, fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"annotations":{%s}}`, mediaType, digest, len(b), annotations))
	}
	text := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{},"layers":[%s]}`, strings.Join(layers, ","))
	digest := remotetest.Digest(text)
	r.manifests[digest] = text
	if tag != "" {
		r.manifests[tag] = text
	}
	return digest
}

func TestEvidenceBesideAnImage(t *testing.T) {
	r := &imageRegistry{manifests: map[string][]byte{}, blobs: map[string][]byte{}, referrers: map[string]string{}}
	server := httptest.NewServer(r)
	defer server.Close()
	image, err := chart.ParseImage(strings.TrimPrefix(server.URL, "http://") + "/shop:1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	client := &remote.Client{PlainHTTP: func(string) bool { return true }}
	digest := r.put("1.4.0", "application/vnd.oci.image.layer.v1.tar", "", "a layer")
	tag := strings.Replace(digest, ":", "-", 1)
	read := func() string {
		t.Helper()
		e, err := client.Evidence(t.Context(), image, digest)
		text := fmt.Sprintf("%d %d %d", len(e.Signatures), len(e.Envelopes), len(e.Bundles))
		if err != nil {
			text += " " + err.Error()
		}
		return text
	}
	if got := read(); got != "0 0 0" {
		t.Errorf("without evidence: %s", got)
	}
	signature := fmt.Sprintf(`"dev.cosignproject.cosign/signature":%q`, base64.StdEncoding.EncodeToString([]byte("signed")))
	r.put(tag+".sig", "application/vnd.dev.cosign.simplesigning.v1+json", signature, "one", "two")
	r.put(tag+".att", "application/vnd.dsse.envelope.v1+json", "", "envelope")
	bundle := r.put("", "application/vnd.dev.sigstore.bundle.v0.3+json", "", "bundle")
	list := r.put("", "application/spdx+json", "", "a list of components")
	r.referrers[digest] = fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[
		{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.dev.sigstore.bundle.v0.3+json","digest":%q,"size":%d},
		{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/spdx+json","digest":%q,"size":%d}]}`,
		bundle, len(r.manifests[bundle]), list, len(r.manifests[list]))
	if got := read(); got != "2 1 1" {
		t.Errorf("got %s", got)
	}
	e, err := client.Evidence(t.Context(), image, digest)
	if err != nil || string(e.Signatures[0].Payload) != "one" || string(e.Signatures[0].Signature) != "signed" {
		t.Errorf("got %+v, %v", e, err)
	}
	for broken, want := range map[string]string{".sig": "0 1 1 read the signatures of", ".att": "2 0 1 read the signatures of", "referrers": "2 1 0 read the signatures of"} {
		if r.broken = broken; !strings.HasPrefix(read(), want) || !strings.Contains(read(), "does not answer") {
			t.Errorf("without %s: %s", broken, read())
		}
	}
	r.broken = ""
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	r.put(tag+".sig", "application/vnd.dev.cosign.simplesigning.v1+json", signature, many...)
	if got := read(); !strings.Contains(got, "more than 50 signatures") {
		t.Errorf("with many: %s", got)
	}
	r.put(tag+".sig", "application/vnd.dev.cosign.simplesigning.v1+json", signature, strings.Repeat("x", 1<<20+1))
	if got := read(); !strings.Contains(got, "more than the 1048576") {
		t.Errorf("with a large one: %s", got)
	}
	r.blobs[remotetest.Digest([]byte("two"))] = []byte("tow")
	r.put(tag+".sig", "application/vnd.dev.cosign.simplesigning.v1+json", signature, "one", "two")
	r.blobs[remotetest.Digest([]byte("two"))] = []byte("tow")
	if got := read(); !strings.HasPrefix(got, "1 1 1 read") {
		t.Errorf("with another content: %s", got)
	}
}
