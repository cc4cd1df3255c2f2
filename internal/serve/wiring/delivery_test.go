package wiring

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/sweeptest"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

func TestCommitGoesFromDevToStage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	commit := s.built("1.4.0")
	d := s.quiet()
	if got, want := s.status(shopSource, commit, "dev"), "success Deployed 1.4.0"; got != want {
		t.Fatalf("dev shows %q, want %q\n%s", got, want, s.story(d))
	}
	if got, want := s.status(shopSource, commit, "stage"), "pending Promoted 1.4.0"; got != want {
		t.Fatalf("stage shows %q, want %q\n%s", got, want, s.story(d))
	}
	dev := s.Files(shopGitOps, "dev")
	for path, want := range map[string]string{
		"functional-test/manifests.yaml":           "image: registry.example/shop:1.4.0",
		".github/tracking/Promoted_Commit_Id":      commit,
		".github/tracking/Version":                 "1.4.0",
		".kalypso/functional-test/values.yaml":     "greeting: hi # values.yaml",
		".kalypso/functional-test/descriptor.yaml": "version: 1.4.0",
	} {
		if !strings.Contains(dev[path], want) {
			t.Errorf("%s of dev does not contain %q:\n%s", path, want, dev[path])
		}
	}
	change := s.open("stage")
	if !change.HasLabel(pullrequest.LabelPromoted) {
		t.Errorf("the change of stage wears %q, not the label promoted", change.Labels)
	}
	for _, want := range []string{"1.4.0", "Deployment/shop", "uat-test"} {
		if !strings.Contains(change.Title+change.Body, want) {
			t.Errorf("the change does not mention %q:\n%s\n%s", want, change.Title, change.Body)
		}
	}
	s.mergeIn("stage")
	d = s.quiet()
	if got, want := s.status(shopSource, commit, "stage"), "success Deployed 1.4.0"; got != want {
		t.Errorf("stage shows %q, want %q\n%s", got, want, s.story(d))
	}
}

func TestConfigurationReachesOnlyItsEnvironment(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	commit := s.built("1.4.0")
	s.quiet()
	s.mergeIn("stage")
	s.quiet()
	dev := s.Head(shopGitOps, "dev")

	config := s.Push(shopConfigs, "stage", map[string]string{"uat-test/values.yaml": "replicas: 5\n"})
	s.quiet()
	change := s.open("stage")
	if change.HasLabel(pullrequest.LabelPromoted) {
		t.Error("a change of configuration wears the label promoted")
	}
	if !strings.Contains(change.Body, "| `replicas` | `3` | `5` | `uat-test/values.yaml:1` | `uat-test` |") {
		t.Errorf("the change does not show the value:\n%s", change.Body)
	}
	s.mergeIn("stage")
	d := s.quiet()
	if got := s.Head(shopGitOps, "dev"); got != dev {
		t.Errorf("dev moved from %s to %s", dev, got)
	}
	if got, want := s.status(shopConfigs, config, "stage"), "success Configured 1.4.0"; got != want {
		t.Errorf("the configuration shows %q, want %q\n%s", got, want, s.story(d))
	}
	stage := s.Files(shopGitOps, "stage")
	if !strings.Contains(stage["uat-test/manifests.yaml"], "replicas: 5") || !strings.Contains(stage[".github/tracking/Promoted_Commit_Id"], commit) {
		t.Errorf("stage has %s\n%s", stage[".github/tracking/Promoted_Commit_Id"], stage["uat-test/manifests.yaml"])
	}
}

func TestFailedClusterStopsTheCommit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	commit := s.built("1.4.0")
	s.fails["dev-1"] = "the image cannot be pulled"
	d := s.quiet()
	status := s.status(shopSource, commit, "dev")
	for _, want := range []string{"failure", "dev-1", "the image cannot be pulled"} {
		if !strings.Contains(status, want) {
			t.Errorf("dev shows %q, which does not say %q\n%s", status, want, s.story(d))
		}
	}
	if got := s.Head(shopGitOps, "stage"); got != "" || s.status(shopSource, commit, "stage") != "" {
		t.Errorf("the commit went on to stage, %s", got)
	}
	// The fix is promoted.
	s.fails = map[string]string{}
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // mended\n"})
	fix := s.built("1.4.1")
	s.quiet()
	s.mergeIn("stage")
	d = s.quiet()
	if got, want := s.status(shopSource, fix, "stage"), "success Deployed 1.4.1"; got != want {
		t.Errorf("stage shows %q, want %q\n%s", got, want, s.story(d))
	}
}

// The protocol is not part of a repository's name in the ledger: this forge has no https. A cluster that runs an older
// commit makes Kalypso read the history of the branch.
func TestHistoryIsReadWhereTheForgeIs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	overHTTP := &git.Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }}
	t.Cleanup(func() { _ = overHTTP.Close() })
	s.chain.Promoter.Ancestry = &repository.Ancestry{Client: overHTTP}

	s.silent["dev-1"] = true
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // newer\n"})
	commit := s.built("1.4.1")
	d := s.quiet()
	if got, want := s.status(shopSource, commit, "dev"), "pending Applying 0/1"; got != want {
		t.Errorf("dev shows %q, want %q\n%s", got, want, s.story(d))
	}
}

func TestGateWithoutClusters(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	if err := s.ledger.RecordCommit(t.Context(), ledger.Commit{
		Repository: "https://git.example/platform-gitops", Branch: "dev", SHA: strings.Repeat("b", 40), Kind: ledger.BranchPlatform,
		Environment: "dev", Committed: fleettest.Time, Recorded: fleettest.Time.Add(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
	commit := s.built("1.4.0")
	d := s.quiet()
	if got, want := s.status(shopSource, commit, "dev"), "pending Waits: no cluster is expected"; got != want {
		t.Errorf("dev shows %q, want %q\n%s", got, want, s.story(d))
	}
}

func TestManualChangesAreRestoredUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	const file = "functional-test/manifests.yaml"
	by := s.Files(shopGitOps, "dev")[file]
	hand := strings.ReplaceAll(by, "replicas: 2", "replicas: 9")
	s.silent["dev-1"] = true
	s.Push(shopGitOps, "dev", map[string]string{file: hand})
	d := s.quiet()
	if got := s.Files(shopGitOps, "dev")[file]; got != by {
		t.Errorf("it was not restored:\n%s\n%s", got, s.story(d))
	}
	changes, err := s.Repo(shopGitOps).FindPullRequests(t.Context(), forge.PullRequestFilter{Base: "dev", Limit: 1})
	if err != nil || !strings.Contains(changes[0].Body, "Changed by hand, and restored") {
		t.Errorf("the change does not tell (%v):\n%s", err, changes[0].Body)
	}
}

func TestClosedPullRequestIsNotOpenedAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	commit := s.built("1.4.0")
	s.quiet()
	closed := forge.Closed
	if err := s.Repo(shopGitOps).EditPullRequest(t.Context(), s.open("stage").Number, forge.PullRequestEdit{State: &closed}); err != nil {
		t.Fatal(err)
	}
	d := s.quiet()
	if got := s.status(shopSource, commit, "stage"); !strings.HasPrefix(got, "failure Rejected") {
		t.Errorf("stage shows %q\n%s", got, s.story(d))
	}
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // more\n"})
	s.built("1.5.0")
	s.quiet()
	if title := s.open("stage").Title; !strings.Contains(title, "1.5.0") {
		t.Errorf("open is %q", title)
	}
}

func TestHeldTargetIsReportedAndNotMerged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Push(shopSource, "main", map[string]string{"helm/templates/broken.yaml": "{{ fail \"no\" }}\n"})
	commit := s.built("1.4.0")
	d := s.quiet()
	change := s.open("dev")
	if !strings.Contains(change.Body, "broken.yaml") {
		t.Errorf("the change does not say what is broken:\n%s", change.Body)
	}
	if got := s.status(shopSource, commit, "dev"); !strings.Contains(got, "cannot be rendered") {
		t.Errorf("dev shows %q\n%s", got, s.story(d))
	}
}

func TestKilledAnywhereItEndsInTheSameState(t *testing.T) {
	t.Parallel()
	whole := newShop(t)
	whole.built("1.4.0")
	whole.quiet()
	// Descriptors and inventories contain URLs or their hashes, and each forge has its own port.
	state := func(s *shop) map[string]string {
		files := s.Files(shopGitOps, "dev")
		delete(files, ".kalypso/functional-test/descriptor.yaml")
		delete(files, ".kalypso/deliveries/shop.json")
		return files
	}
	want := state(whole)
	for _, n := range sweeptest.Points(t, 12) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.built("1.4.0")
			left := n
			s.writes.after = func(string) error {
				if left--; left < 0 {
					return errCrash
				}
				return nil
			}
			_, _ = s.minute()
			s.reboot()
			d := s.quiet()
			if diff := cmp.Diff(want, state(s)); diff != "" {
				t.Fatalf("killed after %d writes: %s\n%s", n, diff, s.story(d))
			}
			changes, err := s.Repo(shopGitOps).FindPullRequests(t.Context(), forge.PullRequestFilter{})
			if err != nil || len(changes) != 2 {
				t.Fatalf("killed after %d writes: %d changes (%v)", n, len(changes), err)
			}
		})
	}
}

func TestManualChangesAreKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	s.mergeIn("stage")
	s.quiet()
	const file = "uat-test/manifests.yaml"
	hand := strings.ReplaceAll(s.Files(shopGitOps, "stage")[file], "replicas: 3", "replicas: 9")
	s.Push(shopGitOps, "stage", map[string]string{file: hand})
	s.quiet()
	change := s.open("stage")
	for _, name := range change.Labels {
		t.Logf("wears %s", name)
	}
	if err := s.Repo(shopGitOps).AddLabels(t.Context(), change.Number, deliver.LabelKeepDrift); err != nil {
		t.Fatal(err)
	}
	s.quiet()
	if got := s.Files(shopGitOps, "stage")[file]; got != hand {
		t.Errorf("it was not kept:\n%s", got)
	}
}

func TestWorkloadsCanShareRepositories(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	second := strings.ReplaceAll(fleettest.Shop()["workload.yaml"], "name: shop\n", "name: cart\n")
	second = strings.ReplaceAll(strings.ReplaceAll(second, "functional-test", "cart-test"), "uat-test", "cart-uat")
	s.Push(shopSource, "main", map[string]string{"cart/workload.yaml": second, "cart/delivery.yaml": strings.ReplaceAll(fleettest.Shop()["delivery.yaml"], "name: shop", "name: cart")})
	s.Push(shopConfigs, "dev", map[string]string{"cart-test/values.yaml": "replicas: 7\n"})
	commit := s.Head(shopSource, "main")
	for _, workload := range []string{"shop", "cart", "shop"} {
		s.chain.Deliverer.Loader = s.loader()
		r := s.request()
		r.Workload = workload
		o, err := s.chain.Deliverer.Round(t.Context(), deliver.RoundRequest{
			Request: r, Environment: "dev", Build: deliver.Build{Commit: commit, Version: "1.0.0", Image: "1.0.0"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if o.PullRequest != nil && o.PullRequest.Head.Branch != "kalypso-"+workload+"/dev" {
			t.Errorf("the change of %s comes from %s", workload, o.PullRequest.Head.Branch)
		}
	}
	dev := s.Files(shopGitOps, "dev")
	for _, path := range []string{"functional-test/manifests.yaml", "cart-test/manifests.yaml", ".kalypso/deliveries/shop.json", ".kalypso/deliveries/cart.json"} {
		if dev[path] == "" {
			t.Errorf("dev has no %s", path)
		}
	}
}

func TestEnvironmentWithoutConfigurationDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	files := fleettest.Shop()
	s.Push(shopSource, "main", map[string]string{
		"workload.yaml": files["workload.yaml"] + "    - {name: smoke, environment: qa}\n",
		"delivery.yaml": files["delivery.yaml"] + "    - {name: qa, promotion: {after: [dev]}}\n",
	})
	commit := s.built("1.4.0")
	var failed error
	for range 8 {
		if _, err := s.minute(); err != nil {
			failed = err
		}
	}
	if !errors.Is(failed, deliver.ErrNoConfig) {
		t.Errorf("got error %v", failed)
	}
	if got := s.status(shopSource, commit, "qa"); !strings.HasPrefix(got, `failure environment "qa" has no configuration`) {
		t.Errorf("qa shows %q", got)
	}
	if got, want := s.status(shopSource, commit, "stage"), "pending Promoted 1.4.0"; got != want {
		t.Errorf("stage shows %q, want %q", got, want)
	}
	// With the branch, the rollout continues.
	s.Push(shopConfigs, "qa", map[string]string{"smoke/values.yaml": "replicas: 1\n"})
	s.quiet()
	if got, want := s.status(shopSource, commit, "qa"), "pending Promoted 1.4.0"; got != want {
		t.Errorf("qa shows %q, want %q", got, want)
	}
}

func TestForcedPushToTheSource(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	s.Push(shopGitOps, "dev", map[string]string{".github/tracking/Promoted_Commit_Id": strings.Repeat("a", 40) + "\n"})
	d, err := s.minute()
	if err != nil {
		t.Fatal(err)
	}
	if o := d.Environments["dev"]; o.OffBranch == nil {
		t.Fatalf("an unknown commit is not reported: %+v", o)
	}
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // more\n"})
	commit := s.built("1.5.0")
	d = s.quiet()
	if got, want := s.status(shopSource, commit, "dev"), "success Deployed 1.5.0"; got != want {
		t.Errorf("dev shows %q, want %q\n%s", got, want, s.story(d))
	}
}
