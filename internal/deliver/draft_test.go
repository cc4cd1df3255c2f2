package deliver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

const (
	sourceMain = "https://git.example/shop main"
	configDev  = "https://git.example/shop-configs dev"
	gitopsDev  = "https://git.example/shop-gitops dev"
)

func draft(t *testing.T, r repos, change ...func(*deliver.DraftRequest)) (*deliver.Draft, error) {
	t.Helper()
	w := deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev", Build: deliver.Build{Version: "1.0.0", Image: "1.0.0"}}
	for _, c := range change {
		c(&w)
	}
	return (&deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}).Draft(t.Context(), w)
}

func mustDraft(t *testing.T, r repos, change ...func(*deliver.DraftRequest)) *deliver.Draft {
	t.Helper()
	d, err := draft(t, r, change...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSameCommitsSameBytes(t *testing.T) {
	a, b := mustDraft(t, shop(3, 2)), mustDraft(t, shop(3, 2))
	if diff := cmp.Diff(a.Files(), b.Files()); diff != "" {
		t.Error(diff)
	}
}

func TestPublishedIsUpToDate(t *testing.T) {
	r := shop(3)
	r.publish(mustDraft(t, r))
	if d := mustDraft(t, r); len(d.Changes()) > 0 || d.Plan.Counts.Unchanged != 3 {
		t.Errorf("got %d changes, %+v", len(d.Changes()), d.Plan.Counts)
	}
}

// What CI publishes does not name the owner. The server knows it, but does not open a pull request for that alone: it
// adds it with the next change.
func TestServerWaitsForAChangeToSayWhoseItIs(t *testing.T) {
	r := shop(3)
	r.publish(mustDraft(t, r))
	kaizen := func(w *deliver.DraftRequest) { w.Request.Workspace = "kaizen" }
	if d := mustDraft(t, r, kaizen); len(d.Changes()) > 0 || d.Plan.Counts.Unchanged != 3 {
		t.Errorf("got %+v", d.Changes())
	}
	r[configDev]["region/t001/values.yaml"] = "replicas: 7\n"
	r.publish(mustDraft(t, r, kaizen))
	for _, target := range []string{"t000", "t001", "t002"} {
		if got := r[gitopsDev][".kalypso/"+target+"/descriptor.yaml"]; !strings.Contains(got, "name: kaizen") {
			t.Errorf("the descriptor of %s does not say whose it is:\n%s", target, got)
		}
	}
}

// A server knows the workspace, and CI does not. CI keeps what the server wrote.
func TestServerAndCISayTheSame(t *testing.T) {
	r := shop(3)
	r.publish(mustDraft(t, r, func(w *deliver.DraftRequest) { w.Request.Workspace = "kaizen" }))
	if got := r[gitopsDev][".kalypso/t000/descriptor.yaml"]; !strings.Contains(got, "name: kaizen") {
		t.Fatalf("the descriptor does not say whose it is:\n%s", got)
	}
	if d := mustDraft(t, r); len(d.Changes()) > 0 {
		t.Errorf("got %+v", d.Changes())
	}
	if d := mustDraft(t, r, func(w *deliver.DraftRequest) { w.Request.Workspace = "other" }); len(d.Changes()) == 0 {
		t.Error("an application that changes hands stays whose it was")
	}
}

func TestRemovedTargetsDisappearWithinTheBudget(t *testing.T) {
	r := shop(12)
	r.publish(mustDraft(t, r))
	r[sourceMain]["workload.yaml"] = shop(11)[sourceMain]["workload.yaml"]
	d := mustDraft(t, r)
	if d.Plan.Counts.Removed != 1 || len(d.Plan.Refusals) > 0 {
		t.Errorf("got %+v, %q", d.Plan.Counts, d.Plan.Refusals)
	}
	r.publish(d)
	if _, there := r[gitopsDev]["t011/manifests.yaml"]; there {
		t.Error("the files of a removed target are still there")
	}
	r[sourceMain]["workload.yaml"] = shop(2)[sourceMain]["workload.yaml"]
	if d := mustDraft(t, r); len(d.Plan.Refusals) != 1 {
		t.Errorf("9 removals of 11 are not refused: %+v", d.Plan)
	}
}

// An invalid budget is a problem with file and line. The default budget applies then, as for the platform.
func TestInvalidDeletionBudgetIsAProblem(t *testing.T) {
	for _, budget := range []string{"7x", "500%", `"-1"`} {
		r := shop(12)
		r[sourceMain]["delivery.yaml"] = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\nspec:\n  gitops:\n    deletionBudget: " + budget + "\n"
		r.publish(mustDraft(t, r))
		r[sourceMain]["workload.yaml"] = shop(2)[sourceMain]["workload.yaml"]
		d := mustDraft(t, r)
		if len(d.Plan.Refusals) != 1 || d.Plan.Budget != fleet.MinimumBudget {
			t.Errorf("%s: 10 removals of 12 are not refused: budget %d, %q", budget, d.Plan.Budget, d.Plan.Refusals)
		}
		wrong := func(p fleet.Problem) bool {
			return p.Severity == fleet.SeverityError && p.Position.String() == "delivery.yaml:6" && p.Object.String() == "Delivery/shop"
		}
		if !slices.ContainsFunc(d.Plan.Problems, wrong) {
			t.Errorf("%s: problems %+v", budget, d.Plan.Problems)
		}
	}
}

func TestMistakesAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(repos)
		err    string // of the whole environment
		held   string // of target t000
	}{
		"no configuration": {
			change: func(r repos) { delete(r, configDev) },
			err:    `environment "dev" has no configuration: there is no repository https://git.example/shop-configs, and no branch "dev-configs" in https://git.example/shop`,
		},
		"no folder for a target": {
			change: func(r repos) { delete(r[configDev], "region/t000/values.yaml") },
			held:   `no folder of the configuration renders the target "t000" of the Workload`,
		},
		"two folders for a target": {
			change: func(r repos) { r[configDev]["other/t000/values.yaml"] = "replicas: 1\n" },
			held:   `several folders of the configuration are named like the target "t000": "other/t000", "region/t000"`,
		},
		"values that are no map": {
			change: func(r repos) { r[configDev]["region/t000/values.yaml"] = "- a\n" },
			held:   "map",
		},
		"no chart": {
			change: func(r repos) { delete(r[sourceMain], "helm/Chart.yaml") },
			held:   `the folder "helm" of the source has no chart`,
		},
		"a chart that does not render": {
			change: func(r repos) { r[sourceMain]["helm/templates/x.yaml"] = "{{ fail \"not today\" }}" },
			held:   "not today",
		},
		"no workload": {
			change: func(r repos) {
				delete(r[sourceMain], "workload.yaml")
				r[sourceMain]["helm/templates/x.yaml"] = "{{ if .Values.x }}\na: b\n{{ end }}\n"
			},
			err: "has no Workload below \"\"; add one that defines what runs",
		},
		"a workload with a mistake in its YAML": {
			change: func(r repos) { r[sourceMain]["workload.yaml"] += "   x: [\n" },
			err:    "has no Workload below \"\", and workload.yaml:",
		},
		"a delivery with a field that does not exist": {
			change: func(r repos) {
				r[sourceMain]["delivery.yaml"] = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\nspec: {charts: {}}\n"
			},
			err: `delivery.yaml: line 1: the Delivery cannot be read`,
		},
		"a delivery that leaves the repository": {
			change: func(r repos) {
				r[sourceMain]["delivery.yaml"] = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\nspec: {manifests: ../../etc}\n"
			},
			err: `../../etc`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := shop(2)
			tc.change(r)
			d, err := draft(t, r)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(d.Plan.Targets, func(c deliver.TargetChange) bool { return c.Name == "t000" })
			if c := d.Plan.Targets[i]; c.Op != plan.Held || !strings.Contains(c.Reason.Message, tc.held) {
				t.Errorf("got %s %+v, want held: %q", c.Op, c.Reason, tc.held)
			}
			for _, p := range d.Plan.Problems {
				if strings.Contains(p.Message, "of no target") {
					t.Errorf("a folder that may belong to a target is reported: %+v", p)
				}
			}
		})
	}
}

func TestUnmergedCommit(t *testing.T) {
	_, err := draft(t, shop(1), func(w *deliver.DraftRequest) { w.Build.Commit = strings.Repeat("f", 40) })
	if !errors.Is(err, deliver.ErrNotOnBranch) {
		t.Errorf("got %v", err)
	}
}

func TestServicesOfTheOriginal(t *testing.T) {
	r := shop(1)
	r[sourceMain]["services/nginx.yaml"] = "name: nginx\nhelm:\n  repository: https://charts.example\n  chart: nginx\n  version: 1.2.3\n"
	r[configDev] = map[string]string{"nginx/t000/values.yaml": "a: b\n"}
	d := mustDraft(t, r, func(w *deliver.DraftRequest) { w.Build = deliver.Build{} })
	r.publish(d)
	if got := r[gitopsDev]["t000/manifests.yaml"]; !strings.Contains(got, "name: nginx") || !strings.Contains(got, `version: "1.2.3"`) {
		t.Errorf("got\n%s\n%+v", got, d.Plan.Problems)
	}
	if got := r[gitopsDev][".kalypso/t000/descriptor.yaml"]; !strings.Contains(got, "app.kalypso.io/chart-digest: sha256:1234") {
		t.Errorf("the descriptor does not name the chart's digest:\n%s", got)
	}
}

// Folders of several services can end alike. Their whole paths are valid names, too.
func TestFoldersBelowServices(t *testing.T) {
	r := shop(1)
	r[sourceMain]["workload.yaml"] = strings.ReplaceAll(r[sourceMain]["workload.yaml"], "t000", "nginx-eu")
	r[sourceMain]["services/nginx.yaml"] = "name: nginx\nhelm: {repository: 'https://charts.example', chart: nginx, version: 1.2.3}\n"
	r[sourceMain]["services/redis.yaml"] = "name: redis\nhelm: {repository: 'https://charts.example', chart: redis, version: 7.0.0}\n"
	r[configDev] = map[string]string{"nginx/eu/values.yaml": "a: b\n", "redis/eu/values.yaml": "a: c\n"}
	d := mustDraft(t, r, func(w *deliver.DraftRequest) { w.Build = deliver.Build{} })
	r.publish(d)
	if got := r[gitopsDev]["nginx-eu/manifests.yaml"]; !strings.Contains(got, "name: nginx") {
		t.Errorf("got\n%s\n%+v", got, d.Plan.Problems)
	}
	if p := d.Plan.Problems; len(p) != 1 || !strings.HasPrefix(p[0].Position.File, "redis/eu/") {
		t.Errorf("got %+v, want a warning about the folder without a target", p)
	}
}

func TestImages(t *testing.T) {
	web := app.Image{Name: "web", Repository: "image.repository", Tag: "image.tag", Digest: "image.digest"}
	worker := app.Image{Name: "worker", Tag: "worker.tag", Version: "worker.version"}
	for image, want := range map[string]map[string]string{
		"":                  {"worker.version": "1.0"},
		"1.4.0":             {"image.tag": "1.4.0", "worker.version": "1.0"},
		"1.4.0@sha256:ab":   {"image.tag": "1.4.0", "image.digest": "sha256:ab", "worker.version": "1.0"},
		"sha256:ab":         {"image.digest": "sha256:ab", "worker.version": "1.0"},
		"r.io:5000/shop:2":  {"image.repository": "r.io:5000/shop", "image.tag": "2", "worker.version": "1.0"},
		"1,worker=2":        {"image.tag": "1", "worker.tag": "2", "worker.version": "1.0"},
		"web=1, worker=1.1": {"image.tag": "1", "worker.tag": "1.1", "worker.version": "1.0"},
	} {
		got, err := deliver.Build{Version: "1.0", Image: image}.Values([]app.Image{web, worker})
		if err != nil {
			t.Errorf("%q: %v", image, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", image, diff)
		}
	}
	if _, err := (deliver.Build{Image: "1,2"}).Values([]app.Image{web, worker}); err == nil {
		t.Error("an image without a name is taken for any")
	}
}

func TestMarkdownFits(t *testing.T) {
	d := mustDraft(t, shop(30, 10))
	for _, limit := range []int{800, 4000, 20_000, 100_000} {
		text := d.Markdown(deliver.MarkdownOptions{Limit: limit})
		if len(text) > limit {
			t.Errorf("limit %d: got %d", limit, len(text))
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
			t.Errorf("limit %d: a difference is cut", limit)
		}
	}
}
