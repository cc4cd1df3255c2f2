package sample

import (
	"bytes"
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
				t.Errorf("nobody names %s", at.Repository(name))
			}
		}
	}
}

func TestClustersServeEveryEnvironment(t *testing.T) {
	at := Site{URL: "http://127.0.0.1:8080"}
	for _, c := range Clusters(at) {
		for i, e := range Environments() {
			if m := c.Memberships[i]; m.Environment != e || m.GitOps.Branch != e || m.GitOps.Repo != at.Repository(GitOps) {
				t.Errorf("%s serves %+v", c.Name, m)
			}
		}
	}
}
