package record_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	drone    = ".kalypso/inventory/drone.json"
	large    = ".kalypso/inventory/large.json"
	tracking = ".github/tracking/Promoted_Commit_Id"
	promoted = "5f0c6e1d2c3b4a59687766554433221100ffeedd"
)

func TestAssignmentsAreThoseOfTheInventories(t *testing.T) {
	w := newWorld(t)
	first := w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a")})
	second := w.commit("gitops", map[string]string{
		drone: inventory("dev", "drone", "shop-a", "shop-b"), large: inventory("dev", "large", "shop-a"), tracking: promoted + "\n",
		"large/shop-a/reconciler.yaml": "kind: Kustomization\n", ".kalypso/inventory/notes.txt": "mine",
	})
	o := w.record(platform("dev"))
	equal(t, "outcome", *o, record.Outcome{
		Branch: record.Branch{Repository: clean, Branch: "gitops", Kind: ledger.BranchPlatform, Environment: "dev"},
		Head:   second, Recorded: []string{first, second},
	})
	c := w.recorded("")
	equal(t, "head", c, ledger.Commit{
		Repository: clean, Branch: "gitops", SHA: second, Kind: ledger.BranchPlatform, Environment: "dev", SourceCommit: promoted,
		Committed: c.Committed, Recorded: noon,
		Assignments: []ledger.Assignment{
			{ClusterType: "drone", Target: "shop-a", Workload: "shop", Workspace: "sales"},
			{ClusterType: "drone", Target: "shop-b", Workload: "shop", Workspace: "sales"},
			{ClusterType: "large", Target: "shop-a", Workload: "shop", Workspace: "sales"},
		},
	})
	equal(t, "first", w.targets(first), "drone/shop-a")
	equal(t, "source of the first", w.recorded(first).SourceCommit, "")
}

func TestFoldersOfClustersAreNotRead(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{drone: inventory("dev", "drone", "shop-a")}
	const clusters = 30
	for i := range clusters {
		name := fmt.Sprintf("west-%d", i)
		files[".kalypso/inventory/clusters/"+name+".json"] = strings.Replace(files[drone], `"clusterType"`, `"cluster": "`+name+`", "clusterType"`, 1)
		files["clusters/"+name+"/shop-a/reconciler.yaml"] = "kind: Kustomization\n"
	}
	first := w.commit("gitops", files)
	w.record(platform("dev"))
	equal(t, "assignments", w.targets(first), "drone/shop-a")
	if lists := w.git.lists.Load(); lists >= clusters {
		t.Errorf("%d folders were listed", lists)
	}

	// An environment can have its path below a folder of that name.
	second := w.commit("gitops", map[string]string{"clusters/stage/.kalypso/inventory/large.json": inventory("stage", "large", "shop-b")})
	w.record(platform("dev"))
	equal(t, "assignments of both", w.targets(second), "drone/shop-a large/shop-b")
}

func TestNothingChangedAsksForTheHeadOnly(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a"), large: inventory("dev", "large")})
	w.record(platform("dev"))
	heads, others := w.git.heads.Load(), w.git.lists.Load()+w.git.reads.Load()+w.git.walked.Load()
	must(t, w.ledger.Close())
	o := w.record(platform("dev")) // which needs no ledger either
	if got := w.git.lists.Load() + w.git.reads.Load() + w.git.walked.Load(); got != others || w.git.heads.Load() != heads+1 || len(o.Recorded) > 0 {
		t.Errorf("%d questions besides the head, recorded %q", got-others, o.Recorded)
	}
}

func TestOneChangedInventoryIsRead(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a"), large: inventory("dev", "large"), tracking: promoted})
	w.record(platform("dev"))
	reads, lists := w.git.reads.Load(), w.git.lists.Load()
	w.commit("gitops", map[string]string{large: inventory("dev", "large", "shop-a"), "large/shop-a/namespace.yaml": "kind: Namespace\n"})
	w.record(platform("dev"))
	if got := w.git.reads.Load() - reads; got != 2 {
		t.Errorf("read %d files, want the tracking file and one inventory", got)
	}
	if got := w.git.lists.Load() - lists; got > 6 {
		t.Errorf("listed %d folders, want none of a cluster type", got)
	}
	equal(t, "targets", w.targets(""), "drone/shop-a large/shop-a")
}

func TestFirstLookLeavesOldHistoryOut(t *testing.T) {
	w := newWorld(t)
	var all []string
	for range 5 {
		all = append(all, w.commit("gitops", nil))
	}
	w.First = 2
	o := w.record(platform("dev"))
	equal(t, "recorded", o.Recorded, all[3:])
	equal(t, "left out", o.LeftOut, true)
	for range 4 {
		all = append(all, w.commit("gitops", nil))
	}
	o = w.record(platform("dev"))
	equal(t, "recorded later: all that followed", o.Recorded, all[5:])
	equal(t, "left out later", o.LeftOut, false)
}

func TestUnreadableInventoryCountsAsItWas(t *testing.T) {
	w := newWorld(t)
	good := w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a"), large: inventory("dev", "large", "shop-a")})
	w.commit("gitops", map[string]string{drone: "{", large: inventory("dev", "large", "shop-b")})
	bad := w.commit("gitops", map[string]string{drone: `{"version": 9, "clusterType": "drone"}`})
	o := w.record(platform("dev"))
	equal(t, "targets", w.targets(bad), "drone/shop-a large/shop-b")
	if got := problems(o); !strings.Contains(got, "inventory-corrupted "+drone) || !strings.Contains(got, "its content at "+good[:7]+" counts") {
		t.Errorf("problems: %s", got)
	}
	if source := o.Problems[len(o.Problems)-1].Position.Source; !strings.HasPrefix(source, clean+" gitops@") {
		t.Errorf("a problem is in %q, want the repository, the branch and the commit", source)
	}
	again := w.record(platform("dev"))
	if len(again.Problems) != 1 {
		t.Errorf("while nothing changes, the problems of the head are told: got %s", problems(again))
	}
	w.commit("gitops", map[string]string{drone: inventory("dev", "drone")})
	equal(t, "problems after mending", problems(w.record(platform("dev"))), "")
	equal(t, "targets after mending", w.targets(""), "large/shop-b")
}

func TestInventoryThatNeverCouldBeReadIsAProblem(t *testing.T) {
	w := newWorld(t)
	// A workload's name that no ledger stores must not keep the rest of the branch out of it.
	w.commit("gitops", map[string]string{
		drone: `{"version": 1, "clusterType": "drone", "assignments": {"a": {"workload": "\u0000", "files": {}}}}`,
		large: inventory("dev", "large", "shop-a"),
	})
	o := w.record(platform("dev"))
	equal(t, "targets", w.targets(""), "large/shop-a")
	if got := problems(o); !strings.Contains(got, "the file is ignored") {
		t.Errorf("problems: %s", got)
	}
}

func TestInventoryOfAnotherClusterTypeIsNone(t *testing.T) {
	w := newWorld(t)
	// The contents are equal, and so are their hashes.
	w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a"), large: inventory("dev", "drone", "shop-a")})
	o := w.record(platform("dev"))
	equal(t, "targets", w.targets(""), "drone/shop-a")
	if got := problems(o); !strings.Contains(got, "inventory-corrupted "+large) {
		t.Errorf("problems: %s", got)
	}
}

// TestTrackingFilesOfSharedBranches checks that environments with paths of their own have tracking files of their own, and
// that the file at the root, which was that of all, still counts where there is no other.
func TestTrackingFilesOfSharedBranches(t *testing.T) {
	w := newWorld(t)
	other := strings.Repeat("ab", 20)
	files := map[string]string{"dev/" + drone: inventory("dev", "drone", "shop-a"), "stage/" + drone: inventory("stage", "drone", "shop-a"), tracking: promoted}
	at := func(changes map[string]string) string {
		for path, content := range changes {
			files[path] = content
		}
		sha := w.commit("gitops", files)
		w.record(record.Branch{Repository: url, Branch: "gitops", Kind: ledger.BranchPlatform, Environment: "dev", Path: "dev"})
		return w.recorded(sha).SourceCommit
	}
	equal(t, "at the root", at(nil), promoted)
	equal(t, "one below its path", at(map[string]string{"dev/" + tracking: other}), other)
	equal(t, "both", at(map[string]string{"stage/" + tracking: other}), other)
	equal(t, "different ones", at(map[string]string{"stage/" + tracking: promoted}), "")
}

func TestTrackingFileWithoutACommit(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{tracking: strings.Repeat("not a commit\n", 1000)})
	o := w.record(platform("dev"))
	equal(t, "source", w.recorded("").SourceCommit, "")
	equal(t, "problems", problems(o), "invalid-value "+tracking+": the file does not contain a commit id")
}

func TestForcePushIsToldAndLosesNothing(t *testing.T) {
	w := newWorld(t)
	first := w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a")})
	lost := w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-b")})
	w.record(platform("dev"))
	w.move("gitops", first)
	next := w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-c")})
	w.restart()
	o := w.record(platform("dev"))
	equal(t, "recorded", o.Recorded, []string{next})
	if o.Rewritten == nil || o.Rewritten.From != lost || o.Rewritten.To != next || !strings.Contains(o.Rewritten.Reason, "force-pushed") {
		t.Errorf("rewritten: %+v", o.Rewritten)
	}
	equal(t, "head", w.recorded("").SHA, next)
	equal(t, "what was lost", w.targets(lost), "drone/shop-b")
	if again := w.record(platform("dev")); again.Rewritten != nil {
		t.Errorf("told twice: %+v", again.Rewritten)
	}
}

func TestBranchThatWentBackHasItsOldHead(t *testing.T) {
	w := newWorld(t)
	first := w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a")})
	w.commit("gitops", nil)
	w.record(platform("dev"))
	w.move("gitops", first)
	o := w.record(platform("dev"))
	equal(t, "head", w.recorded("").SHA, first)
	equal(t, "recorded", o.Recorded, []string(nil))
	if o.Rewritten == nil || !strings.Contains(o.Rewritten.Reason, "went back") {
		t.Errorf("rewritten: %+v", o.Rewritten)
	}
}

func TestMergeThatTheBranchBecameIsNoForcePush(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", nil)
	w.record(platform("dev"))
	// What was the branch is now the second parent of its head.
	merge := w.merge("gitops")
	o := w.record(platform("dev"))
	if o.Rewritten != nil || o.Head != merge {
		t.Errorf("got %+v", o)
	}
}

func TestHistoryWithoutAnythingInCommonIsAFirstLook(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", nil)
	w.record(platform("dev"))
	for range 4 {
		w.commit("other", nil)
	}
	w.First = 2
	w.move("gitops", "other")
	o := w.record(platform("dev"))
	if len(o.Recorded) != 2 || !o.LeftOut || o.Rewritten == nil {
		t.Errorf("got %+v", o)
	}
}

func TestDeletedBranchIsGoneAndKept(t *testing.T) {
	w := newWorld(t)
	equal(t, "a branch that never was", *w.record(platform("dev")), record.Outcome{
		Branch: record.Branch{Repository: clean, Branch: "gitops", Kind: ledger.BranchPlatform, Environment: "dev"},
	})
	head := w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a")})
	w.record(platform("dev"))
	w.delete("gitops")
	w.restart()
	for range 2 {
		o := w.record(platform("dev"))
		if !o.Gone || o.Head != "" || !strings.Contains(problems(o), "no longer exists; its head was "+head[:7]) {
			t.Errorf("got %+v", o)
		}
	}
	equal(t, "what is kept", w.targets(""), "drone/shop-a")
	back := w.commit("gitops", nil)
	o := w.record(platform("dev"))
	equal(t, "recorded when it is back", o.Recorded, []string{back})
	equal(t, "gone when it is back", o.Gone, false)
}

func TestLedgerThatFailsIsGoneOnWith(t *testing.T) {
	w := newWorld(t)
	var all []string
	for range 3 {
		all = append(all, w.commit("gitops", nil))
	}
	w.Ledger = &failing{Ledger: w.ledger, after: 1}
	if _, err := w.Branch(t.Context(), platform("dev")); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), `record branch "gitops" of "https://example.com/team/gitops"`) {
		t.Fatalf("got %v", err)
	}
	w.Ledger = w.ledger
	equal(t, "recorded then", w.record(platform("dev")).Recorded, all[1:])
}

func TestSeveralAtOnceRecordEachCommitOnce(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a")})
		w.commit("other", nil)
	}
	other := platform("stage")
	other.Branch = "other"
	var recorded atomic.Int64
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			o, err := w.Branch(t.Context(), []record.Branch{platform("dev"), other}[i%2])
			if err != nil {
				t.Error(err)
				return
			}
			recorded.Add(int64(len(o.Recorded)))
		})
	}
	wait.Wait()
	equal(t, "recorded", recorded.Load(), int64(6))
}
