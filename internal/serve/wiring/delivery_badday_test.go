package wiring

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestSourceAndConfigurationChangeAtOnce checks that each environment gets both in one pull request, and that the commit is
// promoted with its version.
func TestSourceAndConfigurationChangeAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	s.mergeIn("stage")
	s.quiet()
	s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // more\n"})
	s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 4\n"})
	s.Push(shopConfigs, "stage", map[string]string{"uat-test/values.yaml": "replicas: 6\n"})
	commit := s.built("1.5.0")
	d := s.quiet()
	dev := s.Files(shopGitOps, "dev")["functional-test/manifests.yaml"]
	if !strings.Contains(dev, "shop:1.5.0") || !strings.Contains(dev, "replicas: 4") {
		t.Errorf("dev has\n%s\n%s", dev, s.story(d))
	}
	change := s.open("stage")
	if !change.HasLabel(pullrequest.LabelPromoted) || !strings.Contains(change.Title, "1.5.0") ||
		!strings.Contains(change.Body, "| `replicas` | `3` | `6` | `uat-test/values.yaml:1` | `uat-test` |") {
		t.Errorf("the change of stage wears %q:\n%s\n%s", change.Labels, change.Title, change.Body)
	}
	s.mergeIn("stage")
	d = s.quiet()
	if got, want := s.status(shopSource, commit, "stage"), "success Deployed 1.5.0"; got != want {
		t.Errorf("stage shows %q, want %q\n%s", got, want, s.story(d))
	}
}

// TestConcurrentDeliveries lets CI jobs and a server work on one environment concurrently. The slower one reads again:
// none fails, there is one pull request, and the final state is the same.
func TestConcurrentDeliveries(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	commit := s.built("1.4.0")
	order := deliver.RoundRequest{
		Request: s.request(), Environment: "stage", Build: deliver.Build{Commit: commit, Version: "1.4.0", Image: "1.4.0"},
	}
	var wait sync.WaitGroup
	failed := make([]error, 3)
	for i := range failed {
		wait.Go(func() {
			d := *s.chain.Deliverer
			d.Loader, d.Memory = s.loader(), nil
			_, failed[i] = d.Persist(t.Context(), order, s.loader)
		})
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Errorf("a round was refused: %v", err)
	}
	s.chain.Deliverer.Loader = s.loader()
	o, err := s.chain.Deliverer.Round(t.Context(), order)
	if err != nil || o.PullRequest == nil || len(o.Draft.Changes()) == 0 {
		t.Fatalf("afterwards got %+v, %v; before %v", o, err, failed)
	}
	changes, err := s.Repo(shopGitOps).FindPullRequests(t.Context(), forge.PullRequestFilter{})
	if err != nil || len(changes) != 1 {
		t.Errorf("%d changes (%v); the rounds ended with %v", len(changes), err, failed)
	}
	if got := s.Files(shopGitOps, "kalypso/stage")["uat-test/manifests.yaml"]; !strings.Contains(got, "shop:1.4.0") {
		t.Errorf("proposed is\n%s", got)
	}
}

// TestRenamedEnvironment checks that the new name needs a configuration first, like any new environment, and that the old branch
// is kept because clusters may follow it.
func TestRenamedEnvironment(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	s.mergeIn("stage")
	s.quiet()
	old := s.Head(shopGitOps, "stage")
	files := fleettest.Shop()
	s.Push(shopSource, "main", map[string]string{
		"workload.yaml": strings.ReplaceAll(files["workload.yaml"], "stage", "uat"),
		"delivery.yaml": strings.ReplaceAll(files["delivery.yaml"], "stage", "uat"),
	})
	commit := s.built("1.5.0")
	for range 6 {
		_, _ = s.minute() // the error is in the status
	}
	if got := s.status(shopSource, commit, "uat"); !strings.HasPrefix(got, `failure environment "uat" has no configuration`) {
		t.Errorf("uat shows %q", got)
	}
	if got, want := s.status(shopSource, commit, "dev"), "success Deployed 1.5.0"; got != want {
		t.Errorf("dev shows %q, want %q", got, want)
	}
	s.Push(shopConfigs, "uat", map[string]string{"values.yaml": "greeting: good day\n", "uat-test/values.yaml": "replicas: 3\n"})
	s.quiet()
	if title := s.open("uat").Title; title != "uat: deliver shop 1.5.0 (1 added)" {
		t.Errorf("open is %q", title)
	}
	if got := s.Head(shopGitOps, "stage"); got != old {
		t.Errorf("the branch of the old name moved from %s to %s", old, got)
	}
}

// TestChartRepositoryIsDown checks that the last resolved version is used, with a problem, and that a chart that was never fetched
// holds its targets.
func TestChartRepositoryIsDown(t *testing.T) {
	t.Parallel()
	charts := &remotetest.Server{}
	server := httptest.NewServer(charts)
	t.Cleanup(server.Close)
	charts.Add("shop", "1.2.3", remotetest.Pack("shop", remotetest.Chart("shop", "1.2.3", nil)))
	s := newShop(t)
	s.Push(shopSource, "main", map[string]string{"delivery.yaml": strings.Replace(fleettest.Shop()["delivery.yaml"], "spec:\n",
		"spec:\n  chart: {repository: "+server.URL+", name: shop, version: ~1}\n", 1)})
	cache, err := remote.NewCache(filepath.Join(t.TempDir(), "charts"), 0)
	if err != nil {
		t.Fatal(err)
	}
	draft := func(client *remote.Client) *deliver.Draft {
		t.Helper()
		d := s.chain.Deliverer.Drafter
		d.Loader = s.loader()
		d.Loader.Charts = repository.Charts{Client: client}
		draft, err := d.Draft(t.Context(), deliver.DraftRequest{Request: s.request(), Environment: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		return draft
	}
	known := &remote.Client{Cache: cache}
	draft(known)
	charts.Fail(http.StatusBadGateway)
	d := draft(known)
	said := slices.ContainsFunc(d.Plan.Problems, func(p fleet.Problem) bool { return strings.Contains(p.Message, "which was resolved before") })
	if d.Plan.Counts.Added != 1 || d.Plan.Targets[0].Objects[0].Name != "shop-1.2.3" || !said {
		t.Errorf("got %+v with %+v", d.Plan.Targets, d.Plan.Problems)
	}
	if d := draft(&remote.Client{}); d.Plan.Counts.Held != 1 || !strings.Contains(d.Plan.Targets[0].Reason.Message, "does not answer") {
		t.Errorf("without anything that was resolved: got %+v", d.Plan.Targets)
	}
}
