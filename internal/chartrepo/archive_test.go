package chartrepo_test

import (
	"archive/tar"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chartrepo"
	"github.com/kalypso-io/kalypso/internal/chartrepo/chartrepotest"
)

// TestHostileArchives: links, devices, paths that leave, and archives that unpack to more than is read.
func TestHostileArchives(t *testing.T) {
	for name, tc := range map[string]struct {
		header tar.Header
		text   string
		want   string
	}{
		"symbolic link": {tar.Header{Name: "x/Chart.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "", "is a link"},
		"link":          {tar.Header{Name: "x/Chart.yaml", Typeflag: tar.TypeLink, Linkname: "y"}, "", "is a link"},
		"device":        {tar.Header{Name: "x/null", Typeflag: tar.TypeChar}, "", "neither a file nor a folder"},
		"leaves":        {tar.Header{Name: "x/../../etc/passwd"}, "", "is not the path"},
		"absolute":      {tar.Header{Name: "/etc/passwd"}, "", "is not the path"},
		"backslash":     {tar.Header{Name: `x\..\y`}, "", "is not the path"},
		"no folder":     {tar.Header{Name: "Chart.yaml"}, "", "is not the path"},
		"bomb":          {tar.Header{Name: "x/zeros", Size: chart.MaxSize + 1}, strings.Repeat("\x00", chart.MaxSize+1), "the chart unpacks to"},
	} {
		_, err := chartrepo.Unpack(chartrepotest.Tape([]tar.Header{tc.header}, []string{tc.text}))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	var headers []tar.Header
	for range chart.MaxFiles + 1 {
		headers = append(headers, tar.Header{Name: "x/y"})
	}
	if _, err := chartrepo.Unpack(chartrepotest.Tape(headers, make([]string, len(headers)))); err == nil || !strings.Contains(err.Error(), "more than 20000 files") {
		t.Errorf("many files: got %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(chartrepotest.Pack("x", chartrepotest.Chart("x", "1.0.0", nil)))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, err := chartrepo.Unpack(archive)
		if err != nil {
			return
		}
		for _, file := range files {
			if strings.HasPrefix(file.Path, "/") || slices.Contains(strings.Split(file.Path, "/"), "..") {
				t.Errorf("unpacked %q", file.Path)
			}
		}
	})
}

// TestCache: damaged files count as none, and what was not used for the longest time is dropped first.
func TestCache(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	open := func(size int64) {
		cache, err := chartrepo.NewCache(folder, size)
		if err != nil {
			t.Fatal(err)
		}
		w.client.Cache = cache
	}
	archives := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(folder, "archives", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	fetch := func(version string) {
		t.Helper()
		if _, err := w.client.Fetch(context.Background(), w.places("redis", version)["index"]); err != nil {
			t.Fatal(err)
		}
	}
	open(0)
	w.add("redis", "1.0.0", nil)
	w.add("redis", "2.0.0", nil)
	fetch("1.0.0")
	if err := os.WriteFile(archives()[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Requests()
	fetch("1.0.0")
	if len(w.Requests()) == 0 {
		t.Error("a damaged archive was used")
	}
	fetch("1.0.0")
	if got := w.Requests(); len(got) > 0 {
		t.Errorf("asked for %v", got)
	}
	open(1)
	fetch("2.0.0")
	if got := archives(); len(got) != 1 {
		t.Errorf("got %d archives, want the newest", len(got))
	}
	w.Requests()
	fetch("2.0.0")
	if got := w.Requests(); len(got) > 0 {
		t.Errorf("the newest was dropped, asked for %v", got)
	}
}
