package deliver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// scanPolicy is a policy with scans.
type scanPolicy []check.Scan

// Policy implements [deliver.Policies].
func (p scanPolicy) Rings(context.Context, string) ([]fleet.Stage, error) { return nil, nil }

func (p scanPolicy) Rights(context.Context, string, string) (map[string]check.Rights, error) {
	return nil, nil
}

func (p scanPolicy) Policy(_ context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	return check.Policy{Environment: environment, Scans: p}, nil, nil
}

var everything = scanPolicy{{Name: "images", What: check.Images, Args: []string{"x"}}, {Name: "charts", What: check.Charts, Args: []string{"x"}}}

// told is a scanner that records its requests, and finds something in every artifact.
type told struct{ artifacts []scan.Artifact }

// Results implements [deliver.Scanner].
func (s *told) Results(_ context.Context, scans []check.Scan, artifacts []scan.Artifact) []scan.Result {
	s.artifacts = artifacts
	return []scan.Result{scan.ResultOf(scans[0], artifacts[0], scan.Found, "")}
}

func drafted(t *testing.T, r repos, d deliver.Drafter, build deliver.Build) *deliver.Draft {
	t.Helper()
	d.Loader = &deliver.Loader{Repositories: r, Charts: localCharts{}}
	draft, err := d.Draft(t.Context(), deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev", Build: build})
	if err != nil {
		t.Fatal(err)
	}
	return draft
}

// TestWhatChangesIsScanned checks that each image and chart that changes is scanned once, with its targets.
func TestWhatChangesIsScanned(t *testing.T) {
	r := shop(3)
	scanner := &told{}
	build := deliver.Build{Version: "1.0.0", Image: "1.0.0"}
	d := drafted(t, r, deliver.Drafter{Renderer: charttest.InProcess{}, Policies: everything, Scanner: scanner}, build)
	type seen struct {
		what      check.Subject
		reference string
		targets   string
		files     bool
	}
	var got []seen
	for _, a := range scanner.artifacts {
		got = append(got, seen{a.What, a.Reference, strings.Join(a.Targets, " "), len(a.Files) > 0})
	}
	want := []seen{
		{check.Charts, "shop:0.1.0", "t000 t001 t002", true},
		{check.Images, "registry.example/shop:1.0.0", "t000 t001 t002", false},
	}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("scanned (-got +want):\n%s", diff)
	}
	if !strings.Contains(d.Markdown(deliver.MarkdownOptions{}), "Scans: 1 refusal") {
		t.Error("the text does not say what was found")
	}
	r.publish(d)
	r[configDev]["region/t001/values.yaml"] = "replicas: 9\n"
	if drafted(t, r, deliver.Drafter{Renderer: charttest.InProcess{}, Policies: everything, Scanner: scanner}, build); strings.Join(scanner.artifacts[1].Targets, " ") != "t001" {
		t.Errorf("scanned %+v", scanner.artifacts)
	}
}

// TestScansWithoutScanner checks that scans do not pass if no scanner runs them.
func TestScansWithoutScanner(t *testing.T) {
	d := drafted(t, shop(1), deliver.Drafter{Renderer: charttest.InProcess{}, Policies: everything}, deliver.Build{Version: "1.0.0", Image: "1.0.0"})
	if !d.Scanned || len(d.Scans) != 2 || scan.Combine(d.Scans) != scan.Waiting {
		t.Errorf("scans: %v %+v", d.Scanned, d.Scans)
	}
	d = drafted(t, shop(1), deliver.Drafter{Renderer: charttest.InProcess{}}, deliver.Build{Version: "1.0.0", Image: "1.0.0"})
	if d.Scanned || len(d.Scans) != 0 || strings.Contains(d.Markdown(deliver.MarkdownOptions{}), "Scans") {
		t.Errorf("scans although the policy requires none: %+v", d.Scans)
	}
}
