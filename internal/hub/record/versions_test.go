package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestVersionsAreThoseOfTheDescriptors(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{
		".kalypso/east/descriptor.yaml": descriptor("prod", "east", "1.10"),
		"west/all.YML":                  "kind: Deployment\n---\n" + descriptor("prod", "west", "1.9"),
		"west/deployment.yaml":          "kind: Deployment\nmetadata: {annotations: {of: DeploymentDescriptor}}\n",
		"notes/descriptor.md":           descriptor("prod", "north", "1"),
	})
	o := w.record(application("prod"))
	equal(t, "problems", problems(o), "")
	equal(t, "versions", w.versions(""), "prod/east@1.10 prod/west@1.9")
	c := w.recorded("")
	equal(t, "environment", c.Environment, "prod")
	equal(t, "source", c.SourceCommit, "3b18e512")
	equal(t, "version", c.Versions[0], ledger.Version{
		Workload: "shop", Workspace: "sales", Target: "east", Environment: "prod", Path: "east",
		Version: "1.10", Build: "17", Commit: "3b18e512", Built: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	})
}

func TestOneChangedDescriptorIsRead(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{".kalypso/east/d.yaml": descriptor("prod", "east", "1"), ".kalypso/west/d.yaml": descriptor("prod", "west", "1")}
	for _, folder := range []string{"a", "b", "c", "d"} {
		files["east/"+folder+"/deployment.yaml"] = "kind: Deployment # " + folder
	}
	w.commit("gitops", files)
	w.record(application("prod"))
	reads, lists := w.git.reads.Load(), w.git.lists.Load()
	w.commit("gitops", map[string]string{".kalypso/east/d.yaml": descriptor("prod", "east", "2")})
	w.record(application("prod"))
	equal(t, "versions", w.versions(""), "prod/east@2 prod/west@1")
	equal(t, "files read", w.git.reads.Load()-reads, int64(1))
	if got := w.git.lists.Load() - lists; got > 5 {
		t.Errorf("listed %d folders, want the root, .kalypso, east, and where the tracking file would be", got)
	}
}

func TestDescriptorOfAnotherPlaceIsNotOfThisBranch(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{
		"a.yaml": strings.ReplaceAll(descriptor("prod", "east", "1"), "team/gitops", "team/other"),
		"b.yaml": strings.ReplaceAll(descriptor("prod", "east", "2"), "branch: gitops", "branch: stage"),
		"c.yaml": strings.ReplaceAll(descriptor("prod", "east", "3"), "branch: gitops, ", ""),
	})
	o := w.record(application("prod"))
	equal(t, "versions", w.versions(""), "prod/east@3")
	if got := problems(o); strings.Count(got, "wrong-branch") != 2 {
		t.Errorf("problems: %s", got)
	}
}

func TestTwoDescriptorsOfOneFolder(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{".kalypso/east/d.yaml": descriptor("prod", "east", "2"), "east/old.yaml": descriptor("prod", "east", "1")})
	o := w.record(application("prod"))
	equal(t, "versions", w.versions(""), "prod/east@2")
	equal(t, "problems", problems(o), `duplicate east/old.yaml:1: it describes workload "shop" in folder "east" like ".kalypso/east/d.yaml", which counts`)
}

func TestBrokenDescriptorCountsAsItWas(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{"east.yaml": descriptor("prod", "east", "1"), "west.yaml": descriptor("prod", "west", "1")})
	w.commit("gitops", map[string]string{"east.yaml": "# " + descriptor("prod", "east", "2") + "a: [", "west.yaml": descriptor("prod", "west", "2")})
	o := w.record(application("prod"))
	equal(t, "versions", w.versions(""), "prod/east@1 prod/west@2")
	if got := problems(o); !strings.Contains(got, "yaml-syntax east.yaml") {
		t.Errorf("problems: %s", got)
	}
	w.commit("gitops", map[string]string{"east.yaml": strings.Replace(descriptor("prod", "east", "3"), "version: 3, ", "", 1)})
	o = w.record(application("prod"))
	equal(t, "versions", w.versions(""), "prod/east@1 prod/west@2")
	if got := problems(o); !strings.Contains(got, "invalid-value east.yaml:1: the descriptor cannot be read: spec.workloadVersion.version is missing") {
		t.Errorf("problems: %s", got)
	}
	w.commit("gitops", map[string]string{"east.yaml": ""})
	w.record(application("prod"))
	equal(t, "versions without the file", w.versions(""), "prod/west@2")
}

func TestEnvironmentsOnOneApplicationBranch(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{"dev.yaml": descriptor("dev", "east", "2"), "prod.yaml": descriptor("prod", "west", "1")})
	w.record(application("dev"))
	o := w.record(application("prod"))
	equal(t, "recorded", o.Recorded, []string(nil))
	equal(t, "versions", w.versions(""), "dev/east@2 prod/west@1")
	equal(t, "environment", w.recorded("").Environment, "")
}

func TestBranchWithoutDescriptorsIsOfWhoeverAsks(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{"east/deployment.yaml": "kind: Deployment\n"})
	w.record(application("dev"))
	equal(t, "environment", w.recorded("").Environment, "dev")
	w.record(application("prod"))
	equal(t, "environment of two", w.recorded("").Environment, "")
}
