package scaffold

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// What init writes needs no other repository, and nothing in it is wrong.
func TestANewControlPlaneHasNoProblems(t *testing.T) {
	branches, err := ControlPlaneBranches(hellofleet.Files(), nil)
	if err != nil {
		t.Fatal(err)
	}
	main := readBranch(branches[0], "")
	for _, environment := range branches[1:] {
		in := fleet.Inputs{
			Environment: environment.Name,
			Main:        main,
			Branch:      readBranch(environment, ""),
			Workloads:   map[string]fleet.Fetched{},
		}
		for _, registration := range main.Registrations {
			at := registration.Value.Spec.Workload
			if at.Repo != "." || at.Branch != "main" {
				t.Errorf("%s lies in %s@%s, want this repository", registration.Value.Name, at.Repo, at.Branch)
			}
			in.Workloads[registration.Value.Name] = fleet.Fetched{Objects: readBranch(branches[0], path.Clean(at.Path)+"/")}
		}
		snapshot := fleet.Assemble(in)
		if len(snapshot.Problems)+len(snapshot.Unreadable) > 0 {
			t.Errorf("%s has problems: %v, unreadable: %v", environment.Name, snapshot.Problems, snapshot.Unreadable)
		}
		var targets []string
		for _, target := range snapshot.Targets {
			targets = append(targets, target.String())
		}
		want := map[string][]string{
			"dev": {
				"hello-world-app/functional-test", "hello-world-app/performance-test", "nginx/dev", "prometheus/dev",
			},
			"stage": {"hello-world-app/uat-test", "nginx/stage", "prometheus/stage"},
		}[environment.Name]
		if diff := cmp.Diff(want, targets); diff != "" {
			t.Errorf("%s: -want +got:\n%s", environment.Name, diff)
		}
	}
}

// readBranch reads the YAML files below a folder.
func readBranch(b Branch, below string) *fleet.Objects {
	files := map[string]string{}
	for name, content := range b.Files {
		if strings.HasPrefix(name, below) && strings.HasSuffix(name, ".yaml") {
			files[name] = string(content)
		}
	}
	source := fleettest.Source(b.Name, files)
	source.Repo = "." // as the registrations name it
	return fleet.Read(&fleet.Cache{}, source)
}

func TestRepositoryURLs(t *testing.T) {
	for url, want := range map[string]map[string]string{
		"":                            {},
		"https://github.com/o/fleet":  {".": "https://github.com/o/fleet", "../gitops": "https://github.com/o/gitops"},
		"git@github.com:o/fleet.git":  {".": "git@github.com:o/fleet.git", "../gitops": "git@github.com:o/gitops"},
		"git@example.com:fleet":       {".": "git@example.com:fleet", "../gitops": "git@example.com:gitops"},
		"/srv/git/fleet":              {".": "/srv/git/fleet", "../gitops": "/srv/git/gitops"},
		"https://example.com/a/b/c/d": {".": "https://example.com/a/b/c/d", "../gitops": "https://example.com/a/b/c/gitops"},
	} {
		got, err := URLs(url)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: error %v, -want +got:\n%s", url, err, diff)
		}
	}
}

func TestNameRepositories(t *testing.T) {
	in := "spec:\n  repo: . # this repository\n  path: .\nother:\n  repo: ../gitops\n  repo: ../app\n"
	// What means something in YAML is quoted.
	urls := map[string]string{".": "https://h/o/fleet", "../gitops": "https://h/o/gitops:"}
	want := "spec:\n  repo: https://h/o/fleet\n  path: .\nother:\n  repo: 'https://h/o/gitops:'\n  repo: ../app\n"
	if diff := cmp.Diff(want, string(nameRepositories([]byte(in), urls))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(in, string(nameRepositories([]byte(in), nil))); diff != "" {
		t.Errorf("without a URL, -want +got:\n%s", diff)
	}
}

func TestCheckURL(t *testing.T) {
	for _, good := range []string{
		"", "https://github.com/org/fleet", "ssh://git@host:22/org/fleet", "git@host:org/fleet.git",
		"file:///srv/fleet", "../fleet", "/srv/fleet",
	} {
		if err := CheckURL(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"fleet", "-x/y", "https://", "https://token@host/fleet", "https://me:hunter2@host/fleet", "ssh://git:hunter2@host/x",
		"https://host/a b", "https://host/\x1b", "https://me:hunter2@host/%zz",
	} {
		err := CheckURL(bad)
		if err == nil {
			t.Errorf("%q: got no error", bad)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error repeats the password: %v", bad, err)
		}
	}
}
