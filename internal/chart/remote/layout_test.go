package remote_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
)

// folderBlobs are the contents of a layout.
type folderBlobs string

func (f folderBlobs) Open(digest string) (io.ReadCloser, int64, error) {
	file, err := os.Open(filepath.Join(string(f), "blobs", strings.ReplaceAll(digest, ":", "/")))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	return file, info.Size(), err
}

func serveRegistry(t *testing.T) (*remotetest.Registry, string) {
	t.Helper()
	r := remotetest.NewRegistry()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, strings.TrimPrefix(server.URL, "http://")
}

// TestLayoutCarries an image with two platforms and a chart from one registry to another, with their digests.
func TestLayoutCarries(t *testing.T) {
	outside, from := serveRegistry(t)
	inside, to := serveRegistry(t)
	index := outside.AddImage("team/shop", "1.4.0", "shop", "amd64", "arm64")
	charts := &remotetest.Server{}
	archive := remotetest.Pack("shop", remotetest.Chart("shop", "1.2.0+one", nil))
	charts.Add("shop", "1.2.0+one", archive)
	server := httptest.NewServer(charts)
	defer server.Close()

	client := &remote.Client{PlainHTTP: func(string) bool { return true }}
	dir := t.TempDir()
	layout, err := client.NewLayout(dir)
	if err != nil {
		t.Fatal(err)
	}
	image, err := chart.ParseImage(from + "/team/shop:1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	got, err := layout.Image(t.Context(), image)
	if err != nil || got.Digest != index {
		t.Fatalf("got %+v, %v", got, err)
	}
	image.Tag, image.Digest = "", index
	if again, err := layout.Image(t.Context(), image); err != nil || again != got {
		t.Errorf("by digest: got %+v, %v", again, err)
	}
	if err := client.Upload(t.Context(), folderBlobs(dir), remote.Upload{Artifact: got, Repository: to + "/team/shop", Tag: "1.4.0"}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, repository := range []string{server.URL, strings.Replace(server.URL, "http://", "oci://", 1) + "/charts/shop"} {
		c, err := layout.Chart(t.Context(), app.Chart{Repository: repository, Name: "shop", Version: "1.2.0+one"})
		if err != nil || len(c.Files) != 2 || c.Version != "1.2.0+one" {
			t.Fatalf("%s: got %+v, %v", repository, c, err)
		}
		name := fmt.Sprintf("charts/from-%d/shop", len(names))
		names = append(names, name+":1.2.0_one@"+c.Digest)
		if err := client.Upload(t.Context(), folderBlobs(dir), remote.Upload{Artifact: c.Artifact, Repository: to + "/" + name, Tag: "1.2.0_one"}); err != nil {
			t.Fatal(err)
		}
	}
	want := slices.Sorted(slices.Values(append(names, "team/shop:1.4.0@"+index)))
	if got := inside.List(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	fetched, err := client.Fetch(t.Context(), app.Chart{Repository: "oci://" + to + "/charts/from-0", Name: "shop", Version: "1.2.0+one"})
	if err != nil || len(fetched.Files) != 2 {
		t.Errorf("the chart inside: got %+v, %v", fetched, err)
	}
	before := inside.Writes()
	if err := client.Upload(t.Context(), folderBlobs(dir), remote.Upload{Artifact: got, Repository: to + "/team/shop"}); err != nil || inside.Writes() != before {
		t.Errorf("%d contents were sent again, %v", inside.Writes()-before, err)
	}
	for tag, want := range map[string]string{"1.4.0": index, "2": ""} {
		if got, err := client.Tagged(t.Context(), to+"/team/shop", tag); err != nil || got != want {
			t.Errorf("tag %s: got %s, %v", tag, got, err)
		}
	}
}

// TestLayoutRefuses what cannot be carried.
func TestLayoutRefuses(t *testing.T) {
	registry, host := serveRegistry(t)
	registry.AddLarge("team/large", "1", 1<<40)
	charts := &remotetest.Server{}
	charts.Add("shop", "1.2.0", remotetest.Pack("shop", remotetest.Chart("shop", "1.2.0", remotetest.Files{
		"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.2.0\ndependencies: [{name: base, version: 1.0.0, repository: https://charts.example.com}]\n",
	})))
	server := httptest.NewServer(charts)
	defer server.Close()
	client := &remote.Client{PlainHTTP: func(string) bool { return true }}
	layout, err := client.NewLayout(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = layout.Image(t.Context(), chart.Image{Repository: host + "/team/none", Tag: "1"})
	wantText(t, err, "fetch image "+host+"/team/none:1: the registry does not have it")
	_, err = layout.Image(t.Context(), chart.Image{Repository: host + "/team/large", Tag: "1"})
	wantText(t, err, "has 1099511627776 bytes, more than the 8589934591 that are fetched")
	_, err = layout.Chart(t.Context(), app.Chart{Repository: server.URL, Name: "shop", Version: "1.2.0"})
	wantText(t, err, `depends on "base", which is not in its archive`)
	_, err = layout.Chart(t.Context(), app.Chart{Repository: server.URL, Name: "none", Version: "1.2.0"})
	wantText(t, err, `the repository has no chart "none"`)
	upload := remote.Upload{Artifact: remote.Artifact{MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: remotetest.Digest(nil), Size: 2}, Repository: host + "/a"}
	wantText(t, client.Upload(t.Context(), folderBlobs(t.TempDir()), upload), "upload to "+host+"/a")
}

func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}
