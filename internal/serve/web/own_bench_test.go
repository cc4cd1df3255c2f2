package web_test

import (
	"net/http"
	"testing"
	"time"

	kalypso "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// BenchmarkOwnClusters requests the pages of an environment with 10,000 clusters that have values of their own, and 20 targets on
// all of them, each of which every cluster reports. The pending plan changes the value of every cluster. Each request renders the page again.
func BenchmarkOwnClusters(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes a large fleet")
	}
	w := newWorld(b)
	spec := largefleet.Spec{Targets: 20, ClusterTypes: 20, Layers: 20, Clusters: 10_000}
	published := publish(b, bundle.Build(assemble(spec), nil, nil))
	spec.Seed = 1
	snapshot := assemble(spec)
	built := bundle.Build(snapshot, published, nil)
	pending, err := plan.Compare(plan.PublishedState("dev", published), "pull request", built)
	if err != nil || pending.Counts.Changed < spec.Targets*spec.Clusters {
		b.Fatal(pending.Counts, err)
	}
	w.fleet = fleet{{
		URL: "https://git.example.com/acme/control-plane", Environments: []string{"dev"},
		Scheduling: map[string]*query.Scheduled{"dev": {
			At: noon, Outcome: &schedule.Outcome{Bundle: built, Plan: pending}, Snapshot: snapshot, Decisions: built.Decisions,
		}},
		Promotion: &promote.Outcome{Environments: []promote.Standing{{Environment: "dev", Phase: "good", Verdict: verdictOn(snapshot)}}},
	}}
	w.fill(b, snapshot)
	mux := http.NewServeMux()
	w.pages.Register(mux)
	for _, path := range []string{
		"/", "/environments/dev", "/clusters?environment=dev", "/clusters?environment=dev&state=behind", "/clusters/cluster-00042", "/search?q=cluster-000", "/history?environment=dev",
	} {
		b.Run(path, func(b *testing.B) { measure(b, mux, path) })
	}
	// The same pages for a user with a role in the workspace that has all targets.
	token, _, err := access.Tokens{Store: w.ledger, Guard: w.pages.Guard}.Create(b.Context(), access.TokenRequest{
		Name: "member", Role: access.Reader, Workspaces: []string{snapshot.Targets[0].Workspace},
	}, access.Identity{})
	if err != nil {
		b.Fatal(err)
	}
	member := http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
		mux.ServeHTTP(a, r)
	})
	for _, path := range []string{"/", "/environments/dev", "/clusters?environment=dev", "/clusters?environment=dev&state=behind", "/clusters/cluster-00042"} {
		b.Run("member"+path, func(b *testing.B) { measure(b, member, path) })
	}
}

func assemble(spec largefleet.Spec) *kalypso.Snapshot {
	files := largefleet.Generate(spec)
	main, branch, workloads := files.Sources()
	in := kalypso.Inputs{
		Environment: files.Environment, Main: kalypso.Read(nil, main), Branch: kalypso.Read(nil, branch), Workloads: map[string]kalypso.Fetched{},
	}
	for name, source := range workloads {
		in.Workloads[name] = kalypso.Fetched{Objects: kalypso.Read(nil, source)}
	}
	return kalypso.Assemble(in)
}

// publish returns the branch after a bundle was merged.
func publish(b *testing.B, built *bundle.Bundle) *bundle.Published {
	b.Helper()
	contents := map[string][]byte{}
	var files []bundle.File
	for f := range built.Files {
		contents[f.Path] = f.Content()
		files = append(files, f)
	}
	branch := bundle.Branch{Top: bundle.TreeOf(files), Read: func(path string) ([]byte, error) { return contents[path], nil }}
	published, err := bundle.ReadPublished(branch, built.Environment, nil, nil)
	if err != nil || len(published.Problems) > 0 {
		b.Fatal(err, published.Problems)
	}
	return published
}

// verdictOn returns the verdict of a round in which one cluster in a hundred was behind.
func verdictOn(s *kalypso.Snapshot) comply.Verdict {
	v := comply.Verdict{Commit: "p2", Result: comply.Waiting, Reason: "1 % of the clusters are behind"}
	for i, c := range s.Clusters {
		r := comply.Reconciler{Cluster: c.Name, ClusterType: c.Type, Name: "Kustomization flux-system/platform", State: comply.Reached, Reason: "runs it"}
		if i%100 == 0 {
			r.State, r.Reason = comply.Behind, "runs p1"
		}
		v.Reconcilers = append(v.Reconcilers, r)
	}
	return v
}

// fill records the branches, and what each cluster reports.
func (w *world) fill(b *testing.B, s *kalypso.Snapshot) {
	b.Helper()
	platform := ledger.Commit{Repository: "platform", Branch: "dev", SHA: "p2", Kind: ledger.BranchPlatform, Environment: "dev", Recorded: noon.Add(-time.Hour)}
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, ct := range s.ClusterTypes {
		for _, t := range s.Targets {
			platform.Assignments = append(platform.Assignments, ledger.Assignment{ClusterType: ct.Name, Target: t.Name, Workload: t.Workload, Workspace: t.Workspace})
		}
	}
	must(w.ledger.RecordCommit(b.Context(), platform))
	apps := map[string]ledger.Commit{}
	sources := map[string]ledger.Source{}
	for _, t := range s.Targets {
		source := ledger.Source{Repository: ledger.CleanRepository(t.Manifests["repo"]), Ref: "dev", Path: ledger.CleanPath(t.Manifests["path"])}
		sources[t.Name] = source
		c := apps[source.Repository]
		c.Repository, c.Branch, c.SHA, c.Kind, c.Environment, c.Recorded = source.Repository, "dev", "a1", ledger.BranchApplication, "dev", platform.Recorded
		c.Versions = append(c.Versions, ledger.Version{Workload: t.Workload, Target: t.ShortName, Environment: "dev", Path: source.Path, Version: "1.0"})
		apps[source.Repository] = c
	}
	for _, c := range apps {
		must(w.ledger.RecordCommit(b.Context(), c))
	}
	var reports []ledger.Report
	for _, c := range s.Clusters {
		must(w.ledger.Register(b.Context(), ledger.Registration{
			Cluster: c.Name, Memberships: []ledger.Membership{{Environment: "dev", ClusterType: c.Type}}, At: platform.Recorded,
		}))
		report := func(name, revision string, source ledger.Source) {
			reports = append(reports, ledger.Report{
				Reconciler: ledger.ReconcilerID{Cluster: c.Name, Kind: "Kustomization", Namespace: "flux-system", Name: name},
				Outcome:    ledger.Outcome{Source: source, Revision: revision, State: ledger.StateReady}, Observed: noon, Received: noon,
			})
		}
		report("platform", "p2", ledger.Source{Repository: "platform", Ref: "dev", Path: kalypso.ClusterFolder(c.Name)})
		for _, t := range s.Targets {
			report(t.Name, "a1", sources[t.Name])
		}
		if len(reports) > 5000 {
			must(w.ledger.Report(b.Context(), reports...))
			reports = nil
		}
	}
	must(w.ledger.Report(b.Context(), reports...))
}
