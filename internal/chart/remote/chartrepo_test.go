package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// world is a repository, a registry and a client with a cache.
type world struct {
	*remotetest.Server
	url    string
	client *remote.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: &remotetest.Server{}}
	served := httptest.NewServer(w.Server)
	t.Cleanup(served.Close)
	w.url = served.URL
	cache, err := remote.NewCache(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	w.client = &remote.Client{HTTP: served.Client(), Cache: cache, PlainHTTP: func(string) bool { return true }}
	return w
}

func (w *world) add(name, version string, more remotetest.Files) []byte {
	archive := remotetest.Pack(name, remotetest.Chart(name, version, more))
	w.Add(name, version, archive)
	return archive
}

// places returns references to the same chart in the repository and in the registry.
func (w *world) places(name, version string) map[string]app.Chart {
	return map[string]app.Chart{
		"index":    {Repository: w.url, Name: name, Version: version},
		"registry": {Repository: strings.Replace(w.url, "http://", "oci://", 1) + "/charts/" + name, Version: version},
	}
}

// Exact versions, ranges and all their spellings, from both kinds of repositories.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	archives := map[string][]byte{}
	for _, version := range []string{"1.2.3", "1.10.0", "2.0.0-rc.1", "1.3.0+build.5", "0.9.0"} {
		archives[version] = w.add("redis", version, nil)
	}
	w.Add("redis", "latest", []byte("no version"))
	for asked, want := range map[string]string{
		"1.2.3": "1.2.3", "~1.2": "1.2.3", "^1.0.0": "1.10.0", ">=1, <1.5": "1.3.0+build.5", "*": "1.10.0", "1.x": "1.10.0",
		"2.0.0-rc.1": "2.0.0-rc.1", "1.3.0+build.5": "1.3.0+build.5", ">1.0.0-0": "2.0.0-rc.1",
	} {
		for kind, place := range w.places("redis", asked) {
			f, err := w.client.Fetch(context.Background(), place)
			if err != nil {
				t.Errorf("%s %s: %v", kind, asked, err)
				continue
			}
			if f.Version != want || f.Name != "redis" || f.Digest != remotetest.Digest(archives[want]) {
				t.Errorf("%s %s: got %s %s %s, want %s", kind, asked, f.Name, f.Version, f.Digest, want)
			}
			if c, err := chart.Describe(f.Files); err != nil || c.Name != "redis" {
				t.Errorf("%s %s: %v", kind, asked, err)
			}
		}
	}
	for kind, place := range w.places("redis", "") {
		got, err := w.client.Versions(context.Background(), place)
		if want := []string{"2.0.0-rc.1", "1.10.0", "1.3.0+build.5", "1.2.3", "0.9.0"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v and %v, want %v", kind, got, err, want)
		}
	}
}

// Each refusal explains what is wrong, and where.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.add("redis", "1.2.3", nil)
	w.Add("big", "1.0.0", make([]byte, 50<<20))
	w.Add("junk", "1.0.0", []byte("not an archive"))
	for name, tc := range map[string]struct {
		chart app.Chart
		want  string
	}{
		"version": {app.Chart{Repository: w.url, Name: "redis", Version: "9"}, "has no version 9 of it; the newest is 1.2.3"},
		"chart":   {app.Chart{Repository: w.url, Name: "nothing", Version: "9"}, `has no chart "nothing"`},
		"range":   {app.Chart{Repository: w.url, Name: "redis", Version: "newest"}, "neither a version nor a range"},
		"name":    {app.Chart{Repository: w.url, Name: "../redis", Version: "1"}, "is not the name of a chart"},
		"scheme":  {app.Chart{Repository: "file:///etc", Name: "redis"}, "is not the URL of a repository"},
		"token":   {app.Chart{Repository: "https://me:sesame-open@example.com", Name: "redis"}, "has credentials, or a query, in it"},
		"query":   {app.Chart{Repository: "https://example.com/?token=sesame-open", Name: "redis"}, "has credentials, or a query, in it"},
		"size":    {app.Chart{Repository: w.url, Name: "big", Version: "1.0.0"}, "the chart has 52428800 bytes, more than the 10485760 that are fetched"},
		"layer":   {w.places("big", "1.0.0")["registry"], "the chart has 52428800 bytes, more than the 10485760 that are fetched"},
		"archive": {app.Chart{Repository: w.url, Name: "junk", Version: "1.0.0"}, "read archive"},
		"tag":     {w.places("redis", "3.0.0")["registry"], "not found"},
	} {
		_, err := w.client.Fetch(context.Background(), tc.chart)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// If a repository is down, the last resolved version is used with a notice. Exact versions are not requested again.
func TestRepositoryDown(t *testing.T) {
	for kind := range (&world{}).places("redis", "") {
		w := newWorld(t)
		w.add("redis", "1.2.3", nil)
		fetch := func(version string) (*remote.Fetched, error) {
			return w.client.Fetch(context.Background(), w.places("redis", version)[kind])
		}
		for _, version := range []string{"1.2.3", "~1"} {
			if _, err := fetch(version); err != nil {
				t.Fatal(err)
			}
		}
		w.Fail(http.StatusBadGateway)
		w.Requests()
		f, err := fetch("~1")
		if err != nil || f.Version != "1.2.3" || len(f.Notices) != 1 || !strings.Contains(f.Notices[0], "version 1.2.3 of \"redis\" is used, which was resolved before") {
			t.Errorf("%s: got %+v and %v", kind, f, err)
		}
		w.Requests()
		if f, err = fetch("1.2.3"); err != nil || len(f.Notices) > 0 || len(w.Requests()) > 0 {
			t.Errorf("%s: an exact version was asked for again: %v", kind, err)
		}
		if _, err = fetch("~2"); err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%s: got %v", kind, err)
		}
		w.Fail(0)
		w.add("redis", "1.3.0", nil)
		if f, err = fetch("~1"); err != nil || f.Version != "1.3.0" || len(f.Notices) > 0 {
			t.Errorf("%s: got %v and %v", kind, f, err)
		}
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := w.client.Fetch(canceled, w.places("redis", "~1")[kind]); err == nil {
			t.Errorf("%s: a cancelled request got a chart", kind)
		}
	}
}

// Credentials are only sent to their host, and appear in no error.
func TestCredentials(t *testing.T) {
	w := newWorld(t)
	w.add("redis", "1.2.3", nil)
	w.Protect("me", "open-sesame")
	for kind, place := range w.places("redis", "1.2.3") {
		w.client.Credential = nil
		if _, err := w.client.Fetch(context.Background(), place); err == nil || !strings.Contains(err.Error(), "credential") {
			t.Errorf("%s: got %v without credential", kind, err)
		}
		w.client.Credential = func(_ context.Context, host string) (remote.Credential, error) {
			if !strings.HasSuffix(w.url, host) {
				t.Errorf("asked for %s", host)
			}
			return remote.Credential{User: "me", Password: secret.New("wrong-sesame")}, nil
		}
		if _, err := w.client.Fetch(context.Background(), place); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: got %v", kind, err)
		}
		w.client.Credential = func(context.Context, string) (remote.Credential, error) {
			return remote.Credential{User: "me", Password: secret.New("open-sesame")}, nil
		}
		if _, err := w.client.Fetch(context.Background(), place); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	// They are not sent over unencrypted connections either, unless allowed.
	careful := *w.client
	careful.PlainHTTP, careful.Cache = nil, nil
	if _, err := careful.Fetch(context.Background(), w.places("redis", "1.2.3")["index"]); err == nil || !strings.Contains(err.Error(), "credential") {
		t.Errorf("got %v", err)
	}
	// An archive on another host is fetched without them.
	var header http.Header
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header = r.Header }))
	defer elsewhere.Close()
	index := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(out, "entries: {x: [{version: 1.0.0, urls: ['%s/x.tgz']}]}", elsewhere.URL)
	}))
	defer index.Close()
	_, err := w.client.Fetch(context.Background(), app.Chart{Repository: index.URL, Name: "x", Version: "1.0.0"})
	if err == nil || header == nil || header.Get("Authorization") != "" {
		t.Errorf("got %v and %v", err, header)
	}
}

// Charts in folders and in repositories are combined at any depth.
func TestDependencies(t *testing.T) {
	w := newWorld(t)
	w.add("redis", "1.2.3", nil)
	w.add("redis", "1.4.0", nil)
	w.add("cache", "2.0.0", remotetest.Files{
		"Chart.yaml": "apiVersion: v2\nname: cache\nversion: 2.0.0\ndependencies: [{name: redis, version: ~1.2, repository: " + w.url + "}]\n",
	})
	files := []chart.File{
		{Path: "helm/Chart.yaml", Content: fmt.Appendf(nil, `{apiVersion: v2, name: shop, version: 1.0.0, dependencies: [
			{name: cache, version: ">=1", repository: "%s/charts"},
			{name: redis, version: "1.x", repository: "%s"},
			{name: common, version: "*", repository: "file://../libraries/common"}]}`, strings.Replace(w.url, "http", "oci", 1), w.url)},
		{Path: "helm/Chart.lock", Content: fmt.Appendf(nil, `{dependencies: [{name: redis, version: 1.2.3, repository: "%s"}], digest: x, generated: "2026-01-01T00:00:00Z"}`, w.url)},
		{Path: "libraries/common/Chart.yaml", Content: []byte("apiVersion: v2\nname: common\nversion: 0.1.0\n")},
		{Path: "libraries/common/templates/x.yaml", Content: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: common}\n")},
		{Path: "src/main.go", Content: []byte("package main")},
	}
	f, err := w.client.Local(context.Background(), files, "helm")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range f.Dependencies {
		got = append(got, d.Name+" "+d.Version)
	}
	if want := []string{"cache 2.0.0", "redis 1.2.3", "redis 1.2.3", "common 0.1.0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var paths []string
	for _, file := range f.Files {
		paths = append(paths, file.Path)
	}
	slices.Sort(paths)
	want := []string{
		"Chart.lock", "Chart.yaml",
		"charts/cache-2.0.0/Chart.yaml", "charts/cache-2.0.0/charts/redis-1.2.3/Chart.yaml",
		"charts/cache-2.0.0/charts/redis-1.2.3/templates/cm.yaml", "charts/cache-2.0.0/templates/cm.yaml",
		"charts/common-0.1.0/Chart.yaml", "charts/common-0.1.0/templates/x.yaml",
		"charts/redis-1.2.3/Chart.yaml", "charts/redis-1.2.3/templates/cm.yaml",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	again, err := w.client.Local(context.Background(), files, "helm")
	if diff := cmp.Diff(f, again); diff != "" || err != nil {
		t.Errorf("not the same twice: %s %v", diff, err)
	}
}

// Dependencies that exist only on their author's machine, or lead elsewhere, are refused with that reason.
func TestDependencyRefusals(t *testing.T) {
	w := newWorld(t)
	w.add("remote", "1.0.0", remotetest.Files{"Chart.yaml": "apiVersion: v2\nname: remote\nversion: 1.0.0\ndependencies: [{name: x, version: '*', repository: 'file://../x'}]\n"})
	w.add("loop", "1.0.0", remotetest.Files{"Chart.yaml": "apiVersion: v2\nname: loop\nversion: 1.0.0\ndependencies: [{name: loop, version: '*', alias: again, repository: " + w.url + "}]\n"})
	for name, tc := range map[string]struct{ dependency, want string }{
		"nowhere":     {"{name: x, version: '1'}", "names no repository"},
		"alias":       {"{name: x, version: '1', repository: '@stable'}", "only its author's machine knows"},
		"outside":     {"{name: x, version: '*', repository: 'file://../../../etc'}", "outside of the repository"},
		"of a remote": {"{name: remote, version: '*', repository: " + w.url + "}", "which only its author has"},
		"itself":      {"{name: loop, version: '*', repository: " + w.url + "}", "levels deep"},
		"own folder":  {"{name: shop, version: '*', alias: y, repository: 'file://.'}", "levels deep"},
	} {
		files := []chart.File{{Path: "Chart.yaml", Content: []byte("{apiVersion: v2, name: shop, version: 1.0.0, dependencies: [" + tc.dependency + "]}")}}
		if _, err := w.client.Local(context.Background(), files, ""); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// Many clients can share a cache concurrently.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.add("redis", fmt.Sprintf("1.%d.0", i), nil)
	}
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			f, err := w.client.Fetch(context.Background(), w.places("redis", fmt.Sprintf("1.%d.0", i%5))["index"])
			if err != nil || f.Version != fmt.Sprintf("1.%d.0", i%5) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}
