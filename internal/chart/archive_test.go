package chart_test

import (
	"archive/tar"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
)

// Links, devices, paths outside of the chart, and archives that unpack to more than the limits are refused.
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
		_, err := chart.Unpack(remotetest.Tape([]tar.Header{tc.header}, []string{tc.text}))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	var headers []tar.Header
	for range chart.MaxFiles + 1 {
		headers = append(headers, tar.Header{Name: "x/y"})
	}
	if _, err := chart.Unpack(remotetest.Tape(headers, make([]string, len(headers)))); err == nil || !strings.Contains(err.Error(), "more than 20000 files") {
		t.Errorf("many files: got %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(remotetest.Pack("x", remotetest.Chart("x", "1.0.0", nil)))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, err := chart.Unpack(archive)
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
