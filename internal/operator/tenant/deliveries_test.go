package tenant

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// registration registers the repository of an application.
func registration(name string) string {
	return api + "kind: WorkloadRegistration\nmetadata: {name: " + name + "}\nspec:\n  workload: {repo: ../" + name + ", branch: main, path: .}\n  workspace: shops\n"
}

// application returns the source of the shop, for the environments dev and prod, under another name.
func applicationFiles(name string) map[string]string {
	files := maps.Clone(fleettest.Shop())
	for path, content := range files {
		files[path] = strings.NewReplacer("shop", name, "stage", "prod").Replace(content)
	}
	return files
}

// applicationOf returns the status of an application in an environment.
func applicationOf(p *v1alpha1.ControlPlane, name, environment string) v1alpha1.ApplicationEnvironmentStatus {
	for _, a := range p.Status.Applications {
		for _, e := range a.Environments {
			if a.Name == name && e.Name == environment {
				return e
			}
		}
	}
	return v1alpha1.ApplicationEnvironmentStatus{}
}

// A registered application with a Delivery gets the pull requests and statuses of "kalypso serve". One that wants to write to the platform's
// repositories does not, and does not keep the others from their delivery.
func TestDeliveries(t *testing.T) {
	w := newPromotionWorld(t, "{after: [dev]}")
	p, _ := w.reconcile()
	p.Spec.Applications = &v1alpha1.ControlPlaneApplications{Deliver: true}
	if err := w.client.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", "shop-configs", "shop-gitops", "bandit", "bandit-configs"} {
		w.Create(name)
	}
	bandit := applicationFiles("bandit")
	bandit["workload.yaml"] = strings.ReplaceAll(bandit["workload.yaml"], "../bandit-gitops", "../gitops")
	w.Push("platform/shop", "main", applicationFiles("shop"))
	w.Push("platform/bandit", "main", bandit)
	for environment, target := range map[string]string{"dev": "functional-test", "prod": "uat-test"} {
		for _, name := range []string{"shop", "bandit"} {
			w.Push("platform/"+name+"-configs", environment, map[string]string{"values.yaml": "greeting: hi\n", target + "/values.yaml": "replicas: 2\n"})
		}
	}
	w.Push("platform/shop-gitops", "main", map[string]string{"README.md": "the shop\n"})
	w.Push(fleettest.ControlPlane, "main", map[string]string{"shop.yaml": registration("shop"), "bandit.yaml": registration("bandit"), "nothing.yaml": registration("nothing")})
	commit := w.Head("platform/shop", "main")
	for _, name := range []string{"shop", "bandit"} {
		subject := deliver.SubjectOf(w.URL+"/platform/"+name, name)
		err := deliver.RecordBuild(t.Context(), w.ledger, subject, deliver.Build{Commit: w.Head("platform/"+name, "main"), Version: "1.0.1", Image: "1.0.1"}, "ci", time.Now())
		if err != nil {
			t.Fatal(err)
		}
	}
	platform := w.Head(fleettest.GitOps, "dev")
	p = w.until("the shop is on its GitOps branch", func() {}, func(p *v1alpha1.ControlPlane) bool {
		dev := applicationOf(p, "shop", "dev")
		return dev.Commit == commit && dev.Version == "1.0.1" && w.Head("platform/shop-gitops", "dev") != "" && dev.Phase != "proposed"
	})
	var deployed bool
	for path, content := range w.Files("platform/shop-gitops", "dev") {
		deployed = deployed || strings.HasPrefix(path, "functional-test/") && strings.Contains(content, "registry.example/shop:1.0.1")
	}
	if !deployed {
		t.Errorf("the GitOps branch has %v", w.Files("platform/shop-gitops", "dev"))
	}
	if prod := applicationOf(p, "shop", "prod"); prod.Commit == commit {
		t.Errorf("prod has the commit before dev runs it: %+v", prod)
	}
	pulls, err := w.Repo("platform/shop-gitops").FindPullRequests(t.Context(), forge.PullRequestFilter{})
	if err != nil || len(pulls) != 1 || pulls[0].State != forge.Merged {
		t.Errorf("the pull requests are %+v, %v", pulls, err)
	}
	if e := applicationOf(p, "bandit", "dev").Error; !strings.Contains(e, "belongs to the platform") {
		t.Errorf("an application that names the platform's repository: %+v", p.Status.Applications)
	}
	if w.Head(fleettest.GitOps, "dev") != platform {
		t.Error("an application has written to the platform's repository")
	}
	if got := p.Status.Deliveries; !strings.HasPrefix(got, "2 applications, 1 failed; not read: 1, such as nothing.yaml:") {
		t.Errorf("the summary is %q", got)
	}
	if c := ready(p); c.Status != "True" {
		t.Errorf("applications make the control plane fail: %+v", c)
	}
	// Without the field, nothing is delivered, and the status is empty.
	p.Spec.Applications = nil
	if err := w.client.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.Push("platform/shop", "main", map[string]string{"main.go": "package main // changed\n"})
	if p, _ = w.reconcile(); len(p.Status.Applications) > 0 || p.Status.Deliveries != "" {
		t.Errorf("the status is %+v", p.Status)
	}
}
