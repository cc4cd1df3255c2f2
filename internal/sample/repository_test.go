package sample

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestRepositoriesNameEachOther: whatever the site, no document names a place that is not on it.
func TestRepositoriesNameEachOther(t *testing.T) {
	for _, at := range []Site{{URL: "http://127.0.0.1:8080"}, {URL: "https://git.example/sub/", Org: "acme", Prefix: "demo"}} {
		all, err := Repositories(at)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, r := range all {
			if r.URL != strings.TrimRight(at.URL, "/")+"/"+r.Owner+"/"+r.Slug {
				t.Errorf("%s is at %s", r.Name, r.URL)
			}
			for _, b := range r.Branches {
				if len(b.Files) == 0 {
					t.Errorf("branch %s of %s is empty", b.Name, r.Name)
				}
				for path, content := range b.Files {
					for line := range bytes.Lines(content) {
						repo, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "repo: ")
						if !ok || !strings.HasSuffix(path, ".yaml") || strings.Contains(repo, "{{") {
							continue
						}
						named[repo] = true
						if !strings.HasPrefix(repo, strings.TrimRight(at.URL, "/")) {
							t.Errorf("%s of %s, %s: names %s", path, r.Name, b.Name, repo)
						}
					}
				}
			}
		}
		for _, name := range []string{ControlPlane, GitOps, Services, ServicesGitOps, App, AppGitOps} {
			if !named[at.Repository(name)] {
				t.Errorf("%s is not used", at.Repository(name))
			}
		}
	}
}

func TestClustersServeEveryEnvironment(t *testing.T) {
	at := Site{URL: "http://127.0.0.1:8080"}
	for _, c := range Clusters(at, nil) {
		for i, e := range Environments() {
			if m := c.Memberships[i]; m.Environment != e || m.GitOps.Branch != e || m.GitOps.Repo != at.Repository(GitOps) {
				t.Errorf("%s serves %+v", c.Name, m)
			}
		}
	}
	if got := Clusters(at, []RealCluster{{Name: "drone-1", ClusterType: "drone"}}); len(got) != 1 || got[0].Name != "large" {
		t.Errorf("beside a real drone there are %+v", got)
	}
}

// TestRepositoriesForRealClusters: they have Flux, and a credential; what stays simulated stays as it is.
func TestRepositoriesForRealClusters(t *testing.T) {
	text := func(at Site, repository, branch, path string) string {
		all, err := Repositories(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			for _, b := range r.Branches {
				if content, ok := b.Files[path]; ok && r.Name == repository && b.Name == branch {
					return string(content)
				}
			}
		}
		t.Fatalf("%s has no %s", repository, path)
		return ""
	}
	const large, workload = "cluster-types/west-us/large/large-cluster-type.yaml", "workload/workload.yaml"
	at := Site{URL: "https://git.example", Org: "acme", Flux: []string{"large"}, Secret: "reader"}
	for _, e := range Environments() {
		if got := text(at, ControlPlane, e, large); !strings.Contains(got, "reconciler: flux\n") || !strings.Contains(got, "    flux-sources: flux-system\n") {
			t.Errorf("large of %s is\n%s", e, got)
		}
	}
	if got := text(at, App, "main", workload); strings.Count(got, "        secret: reader\n        repo: https://git.example/acme/") != 3 {
		t.Errorf("the workload is\n%s", got)
	}
	grants := text(at, ControlPlane, "main", "grants.yaml")
	for _, named := range []string{text(at, App, "main", workload), text(at, Services, "main", "nginx/workload.yaml")} {
		found := regexp.MustCompile(`secret: reader\n +repo: (\S+)`).FindAllStringSubmatch(named, -1)
		if len(found) == 0 {
			t.Errorf("no credential is named:\n%s", named)
		}
		for _, m := range found {
			if !strings.Contains(grants, "- name: reader\n    url: "+m[1]+"\n") {
				t.Errorf("the credential is not granted for %s:\n%s", m[1], grants)
			}
		}
	}
	at = Site{URL: "https://git.example", Org: "acme", Flux: []string{"drone"}}
	if got := text(at, ControlPlane, "dev", large); !strings.Contains(got, "reconciler: argocd\n") {
		t.Errorf("large is\n%s", got)
	}
	if got := text(at, App, "main", workload); strings.Contains(got, "secret") {
		t.Errorf("the workload is\n%s", got)
	}
	if got := text(at, ControlPlane, "main", "templates/flux.yaml"); !strings.Contains(got, "interval: 10s\n") {
		t.Errorf("the template is\n%s", got)
	}
}
