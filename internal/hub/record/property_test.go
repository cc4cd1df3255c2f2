package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// TestInterruptionsDoNotMatter lets two ledgers grow with one branch: one by a recorder that fails anywhere, starts anew
// and looks when it likes, one by a single look at the end. Both say the same.
func TestInterruptionsDoNotMatter(t *testing.T) {
	w, other, branches := newWorld(t), openLedger(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		branch := rapid.SampledFrom([]record.Branch{platform("dev"), application("dev")}).Draw(rt, "branch")
		branches++
		branch.Branch = fmt.Sprintf("gitops-%d", branches)
		w.restart()
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			w.step(rt, branch)
		}
		head := w.commit(branch.Branch, nil)
		w.record(branch)

		once := &record.Recorder{Repositories: w.git, Ledger: other, Now: func() time.Time { return noon }}
		_, err := once.Branch(t.Context(), branch)
		must(t, err)
		if diff := cmp.Diff(contents(t, other, branch.Branch, head), contents(t, w.ledger, branch.Branch, head)); diff != "" {
			rt.Errorf("interrupted recording differs (-once +interrupted):\n%s", diff)
		}
	})
}

// step does one thing that may happen to a branch, or to what records it.
func (w *world) step(rt *rapid.T, branch record.Branch) {
	switch rapid.SampledFrom([]string{"commit", "commit", "record", "fail", "restart"}).Draw(rt, "step") {
	case "commit":
		w.commit(branch.Branch, drawChange(rt))
	case "record":
		w.record(branch)
	case "fail":
		w.Ledger = &failing{Ledger: w.ledger, after: rapid.IntRange(0, 3).Draw(rt, "after")}
		_, _ = w.Branch(w.t.Context(), branch)
		w.Ledger = w.ledger
	case "restart":
		w.restart()
	}
}

// drawChange draws files of a commit, some of which cannot be read, and some deleted.
func drawChange(rt *rapid.T) map[string]string {
	files := map[string]string{}
	for _, name := range []string{"drone", "large"} {
		version := rapid.IntRange(0, 4).Draw(rt, name)
		switch version {
		case 0:
			files[".kalypso/inventory/"+name+".json"], files[name+".yaml"] = "{", "kind: DeploymentDescriptor\n: ["
		case 1:
			files[".kalypso/inventory/"+name+".json"], files[name+".yaml"] = "", ""
		case 2:
		default:
			files[".kalypso/inventory/"+name+".json"] = inventory("dev", name, fmt.Sprintf("shop-%d", version))
			files[name+".yaml"] = strings.Replace(descriptor("dev", name, fmt.Sprintf("1.%d", version)), "branch: gitops, ", "", 1)
		}
	}
	return files
}

// contents are the commits of the branch by their ids, and its head.
func contents(t *testing.T, l ledger.Ledger, branch, head string) map[string]ledger.Commit {
	t.Helper()
	all, err := l.Commits(t.Context(), ledger.CommitQuery{Repository: clean, Branch: branch})
	must(t, err)
	found := map[string]ledger.Commit{}
	for _, c := range all {
		found[c.SHA], err = l.Commit(t.Context(), clean, branch, c.SHA)
		must(t, err)
	}
	at, err := l.Commit(t.Context(), clean, branch, "")
	must(t, err)
	equal(t, "head", at.SHA, head)
	return found
}
