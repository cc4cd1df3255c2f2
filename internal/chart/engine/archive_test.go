package engine_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
)

// Archives in the folder charts are unpacked, also nested ones, and their total size is bounded.
func TestArchivesOfDependencies(t *testing.T) {
	inner := remotetest.Pack("inner", remotetest.Chart("inner", "1.0.0", nil))
	outer := remotetest.Pack("outer", remotetest.Chart("outer", "1.0.0", remotetest.Files{"charts/inner-1.0.0.tgz": string(inner)}))
	job := oneTemplate("", chart.File{Path: "charts/outer-1.0.0.tgz", Content: outer})
	r := engine.Run(job, nil).Targets[0]
	if r.Manifests == nil || len(r.Manifests.Objects) != 2 {
		t.Errorf("got %v and %s", r.Manifests, showProblems(r.Problems))
	}
	zeros := remotetest.Pack("big", remotetest.Chart("big", "1.0.0", remotetest.Files{"zeros": strings.Repeat("\x00", chart.MaxSize/2)}))
	for name, tc := range map[string]struct {
		more []chart.File
		want string
	}{
		"together too large": {[]chart.File{{Path: "charts/a.tgz", Content: zeros}, {Path: "charts/b.tgz", Content: zeros}, {Path: "charts/c.tgz", Content: zeros}}, "the files have"},
		"no archive":         {[]chart.File{{Path: "charts/a.tgz", Content: []byte("x")}}, `unpack "charts/a.tgz"`},
	} {
		if got := showProblems(engine.Run(oneTemplate("", tc.more...), nil).Targets[0].Problems); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
