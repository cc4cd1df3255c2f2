package record_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

func target(name string, manifests map[string]string) *fleet.Target {
	return &fleet.Target{Name: name, Manifests: manifests, Origin: fleet.Origin{Position: fleet.Position{Source: "https://example.com/team/shop", File: "workload.yaml"}}}
}

func loadedFleet() *schedule.Loaded {
	return &schedule.Loaded{
		Snapshot: &fleet.Snapshot{
			Environment: "dev", GitOps: &fleet.GitOpsRepo{Repo: "../gitops", Branch: "dev", Path: "fleet"},
			Targets: []*fleet.Target{
				target("shop-a", map[string]string{"repo": "https://example.com/team/shop-gitops", "branch": "dev", "path": "a"}),
				target("shop-b", map[string]string{"repo": "git@example.com:team/shop-gitops.git", "branch": "dev", "path": "b", "storage": "git"}),
				target("shop-c", map[string]string{"repo": "https://example.com/team/shop-gitops", "path": "c"}),
				target("chart", map[string]string{"repo": "https://charts.example.net", "storage": "helm"}),
				target("tagged", map[string]string{"repo": "https://example.com/team/shop-gitops", "tag": "v1"}),
				target("empty", map[string]string{}),
				target("metadata", map[string]string{"repo": "http://169.254.169.254/latest/meta-data", "branch": "dev"}),
				target("machine", map[string]string{"repo": "/etc", "branch": "dev"}),
				target("platform", map[string]string{"repo": "https://example.com/platform/gitops", "branch": "dev"}),
			},
		},
		Inputs: schedule.Inputs{
			Branch: schedule.Input{Name: "dev", Repo: "https://example.com/platform/control-plane"},
			Others: []schedule.Input{{Name: "https://example.com/team/shop", Repo: "https://example.com/team/shop"}},
		},
		Read: []schedule.Location{{Repo: "https://example.com/platform/control-plane"}, {Repo: "https://example.com/team/shop"}},
	}
}

// resolve stands in for the program's rules of relative URLs and paths.
func resolve(repository, url string) (string, error) {
	switch {
	case url == "../gitops" && repository == "https://example.com/platform/control-plane":
		return "https://example.com/platform/gitops", nil
	case strings.HasPrefix(url, "/") && !strings.HasPrefix(repository, "/"):
		return "", errors.New("it is on this machine")
	}
	return url, nil
}

func TestBranchesOfAnEnvironment(t *testing.T) {
	loaded := loadedFleet()
	var hosts record.Hosts
	hosts.AddRead(loaded)
	branches, problems := record.Branches(loaded, resolve, &hosts)
	equal(t, "branches", branches, []record.Branch{
		{Repository: "https://example.com/platform/gitops", Branch: "dev", Kind: ledger.BranchPlatform, Environment: "dev", Path: "fleet"},
		{Repository: "https://example.com/team/shop-gitops", Kind: ledger.BranchApplication, Environment: "dev"},
		{Repository: "https://example.com/team/shop-gitops", Branch: "dev", Kind: ledger.BranchApplication, Environment: "dev"},
	})
	var objects []string
	for _, p := range problems {
		objects = append(objects, p.Object.Name+": "+p.Message)
	}
	equal(t, "problems", objects, []string{
		"machine: manifests are not read, so that running versions are unknown: it is on this machine",
		`metadata: manifests are not read, so that running versions are unknown: the host of "http://169.254.169.254/latest/meta-data" is not configured`,
	})
}

func TestHostsAreThoseThatPeopleConfigured(t *testing.T) {
	var hosts record.Hosts
	if hosts.Know("https://example.com/a/b") {
		t.Error("the zero value knows a host")
	}
	hosts.Add("https://Example.com/platform/gitops", "git@git.example.com:a/b.git", "https://forge.example.com:8443/a/b", "/srv/git", "")
	for url, want := range map[string]bool{
		"https://example.com/other/repo":           true,
		"ssh://git@example.com:2222/other/repo":    true,
		"https://git.example.com/x/y":              true,
		"https://forge.example.com:8443/x/y":       true,
		"https://forge.example.com/x/y":            false,
		"https://forge.example.com:22/x/y":         false,
		"https://evil.example.com/x/y":             false,
		"https://example.com.evil.net/x/y":         false,
		"https://example.com@evil.net/x/y":         false,
		"https://evil.net/https://example.com/x/y": false,
		"/srv/git":                 false,
		"file:///srv/git":          false,
		"ext::sh -c id":            false,
		"":                         false,
		"https://":                 false,
		"https://169.254.169.254/": false,
	} {
		if got := hosts.Know(url); got != want {
			t.Errorf("%q: got %t", url, got)
		}
	}
}

func report(cluster, repository, ref string) ledger.Report {
	return ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Name: "apps"},
		Outcome:    ledger.Outcome{Source: ledger.Source{Repository: ledger.CleanRepository(repository), Ref: ref}, Revision: "abc", State: ledger.StateReady},
		Observed:   noon, Received: noon,
	}
}

func TestFollowedBranchesAreReadOnKnownHostsOnly(t *testing.T) {
	w := newWorld(t)
	w.commit("gitops", map[string]string{"dev.yaml": descriptor("dev", "east", "2"), "prod.yaml": descriptor("prod", "west", "1")})
	w.record(application("dev")) // recorded, and of no single environment
	must(t, w.ledger.Report(t.Context(),
		report("large-01", url, "gitops"),
		report("large-02", "https://example.com/team/unknown", "dev"),
		report("large-03", "https://example.com/team/unknown.git", "dev"),
		report("large-04", "https://example.com/team/tagged", "refs/tags/v1"),
		report("large-05", "http://169.254.169.254/latest/meta-data", "dev"),
		report("large-06", "/etc", "dev"),
		report("large-07", "", ""),
		report("large-08", "http://plain.example.com:3000/team/unknown", "dev"),
	))
	var hosts record.Hosts
	hosts.Add(url, "http://plain.example.com:3000")
	branches, err := record.Followed(t.Context(), w.ledger, &hosts)
	must(t, err)
	equal(t, "branches", branches, []record.Branch{
		{Repository: "http://plain.example.com:3000/team/unknown", Branch: "dev", Kind: ledger.BranchApplication},
		{Repository: "https://example.com/team/unknown", Branch: "dev", Kind: ledger.BranchApplication},
	})
}
