package record_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestEnvironmentsThatShareABranchAreRecordedTogether(t *testing.T) {
	w := newWorld(t)
	head := w.commit("gitops", map[string]string{
		"fleet/dev/" + drone:  inventory("dev", "drone", "shop-a"),
		"fleet/prod/" + large: inventory("prod", "large", "shop-b"),
	})
	dev, prod := platform("dev"), platform("prod")
	dev.Path, prod.Path = "fleet/dev", "./fleet/prod/"
	w.record(dev)
	o := w.record(prod)
	for environment, want := range map[string]string{"dev": "drone/shop-a", "prod": "large/shop-b"} {
		wanted, err := w.ledger.Wanted(t.Context(), ledger.WantedQuery{Environment: environment})
		must(t, err)
		if len(wanted.Assignments) != 1 || wanted.Assignments[0].ClusterType+"/"+wanted.Assignments[0].Target != want {
			t.Errorf("%s wants %+v, not %s", environment, wanted.Assignments, want)
		}
	}
	equal(t, "targets", w.targets(head), "drone/shop-a large/shop-b")
	equal(t, "environment", w.recorded("").Environment, "")
	equal(t, "problems", problems(o), "")
	w.restart()
	equal(t, "recorded by another process", w.record(prod).Recorded, []string(nil))
}

func TestRenamedEnvironmentTakesTheBranchOver(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a")})
	w.record(platform("dev"))
	for range 2 {
		o := w.record(platform("develop"))
		equal(t, "environment", w.recorded("").Environment, "develop")
		if got := problems(o); !strings.Contains(got, `it names environment "dev" in the folder of environment "develop"`) {
			t.Errorf("problems: %s", got)
		}
	}
	equal(t, "targets", w.targets(""), "drone/shop-a")
	w.restart()
	w.record(platform("develop"))
	equal(t, "environment after a restart", w.recorded("").Environment, "develop")
}

func TestPlatformBranchIsNoApplications(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{drone: inventory("dev", "drone", "shop-a")})
	w.record(platform("dev"))
	o := w.record(application("dev"))
	if got := problems(o); !strings.Contains(got, "platform branch") {
		t.Errorf("problems: %s", got)
	}
	w.commit("gitops", nil)
	w.record(application("dev"))
	w.record(platform("dev"))
	equal(t, "kind", w.recorded("").Kind, ledger.BranchPlatform)
	equal(t, "targets", w.targets(""), "drone/shop-a")
}

func TestDefaultBranchIsRecordedUnderItsName(t *testing.T) {
	w := newWorld(t)
	b := platform("dev")
	b.Branch = ""
	o := w.record(b)
	equal(t, "branch", o.Branch.Branch, "start")
	c, err := w.ledger.Commit(t.Context(), clean, "start", "")
	must(t, err)
	equal(t, "head", c.SHA, o.Head)
	equal(t, "again", *w.record(b), record.Outcome{Branch: o.Branch, Head: o.Head})
}
