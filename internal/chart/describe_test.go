package chart_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
)

// A chart that does not say what it is, or hides more than is read, is refused with the reason. See also the engine's tests, which
// compare descriptions with Helm's.
func TestChartsThatCannotBeDescribed(t *testing.T) {
	const fine = "name: shop\nversion: 1.0.0\n"
	for name, tc := range map[string]struct {
		metadata string
		more     []chart.File
		want     string
	}{
		"not YAML":   {"a: [", nil, "read Chart.yaml"},
		"not a map":  {"- 1", nil, "read Chart.yaml"},
		"no name":    {"version: 1.0.0", nil, `"" is not the name of a chart`},
		"a path":     {"name: ../shop\nversion: 1.0.0", nil, `"../shop" is not the name of a chart`},
		"parent":     {"name: ..\nversion: 1.0.0", nil, `".." is not the name of a chart`},
		"control":    {"name: \"a\\nb\"\nversion: 1.0.0", nil, "is not the name of a chart"},
		"no version": {"name: shop", nil, `"" is not a version`},
		"empty":      {fine + "dependencies: [null]", nil, `a dependency of chart "shop" is empty`},
		"lock":       {fine, []chart.File{{Path: "Chart.lock", Content: []byte("a: [")}}, "read Chart.lock"},
		"subchart":   {fine, []chart.File{{Path: "charts/a/Chart.yaml", Content: []byte("a: [")}}, `chart in "charts/a/Chart.yaml"`},
		"no archive": {fine, []chart.File{{Path: "charts/a.tgz", Content: []byte("x")}}, `unpack "charts/a.tgz"`},
		"outside":    {fine, []chart.File{{Path: "../x"}}, "leaves the folder"},
		"link":       {fine, []chart.File{{Path: "x", Symlink: true}}, "is a symbolic link"},
		"too large":  {fine, bombs(), "the archives in the folder charts have more than"},
	} {
		files := append([]chart.File{{Path: "Chart.yaml", Content: []byte(tc.metadata)}}, tc.more...)
		if got, err := chart.Describe(files); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v and %v, want %q", name, got, err, tc.want)
		}
	}
	if _, err := chart.Describe(nil); err == nil || !strings.Contains(err.Error(), "there is no Chart.yaml") {
		t.Errorf("no files: got %v", err)
	}
}

// bombs are small archives that are large together.
func bombs() []chart.File {
	zeros := remotetest.Pack("big", remotetest.Chart("big", "1.0.0", remotetest.Files{"zeros": strings.Repeat("\x00", chart.MaxSize/2)}))
	var files []chart.File
	for i := range 3 {
		files = append(files, chart.File{Path: fmt.Sprintf("charts/%d.tgz", i), Content: zeros})
	}
	return files
}
