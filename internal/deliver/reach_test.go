package deliver

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestOwns checks that an application has its own and the listed repositories in any spelling, and no others.
func TestOwns(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		listed       []string
		own, others  []string
	}{
		{
			name: "the usual layout", source: "https://github.com/acme/hello",
			own: []string{
				"https://github.com/acme/hello", "https://github.com/acme/hello-configs", "https://github.com/acme/hello-gitops.git",
				"https://GitHub.com/acme/hello-gitops/", "https://github.com:443/acme//hello-gitops", "git@github.com:acme/hello-gitops.git",
				"ssh://git@ssh.github.com:443/acme/hello-gitops", "https://token@github.com/acme/hello-gitops",
			},
			others: []string{
				"https://github.com/acme/payments", "https://github.com/acme/payments-gitops", "https://github.com/acme/hello-", "https://github.com/acme/hellogitops",
				"https://github.com/acme/hello.wiki", "https://github.com/other/hello-gitops", "https://github.com/acme", "https://github.com/",
				"https://github.com/ACME/hello-gitops", "https://github.com/acme/Hello-gitops", "https://github.com/acme/hello-x/payments",
				"https://github.com/acme/hello-/../payments", "https://github.com/acme/../other/hello-gitops", "https://github.com/acme/hello-x/%2e%2e/payments",
				`https://github.com/acme/hello-x\..\payments`, "https://github.com/acme%2Fhello-x%2F..%2Fpayments", "https://github.com/acme/hello-%00",
				"https://gitlab.com/acme/hello-gitops", "https://github.com:8443/acme/hello-gitops", "https://github.com@evil.example/acme/hello-gitops",
				"https://github.com.evil.example/acme/hello-gitops", "https://evil.example/github.com/acme/hello-gitops", "git@evil.example:acme/hello-gitops",
				"file:///acme/hello-gitops", "/acme/hello-gitops", "../hello-gitops", "", "https://", "::", "ftp://github.com/acme/hello-gitops",
			},
		},
		{
			name: "a name that says what it is", source: "https://github.com/acme/kalypso-app-src.git",
			own:    []string{"https://github.com/acme/kalypso-app-gitops", "https://github.com/acme/kalypso-app-src"},
			others: []string{"https://github.com/acme/kalypso-gitops", "https://github.com/acme/kalypso-control-plane", "https://github.com/acme/kalypso-svc-gitops"},
		},
		{
			name: "groups within groups", source: "https://gitlab.example.com/acme/teams/kaizen/hello",
			own: []string{"https://gitlab.example.com/acme/teams/kaizen/hello-gitops"},
			others: []string{
				"https://gitlab.example.com/acme/teams/hello-gitops", "https://gitlab.example.com/acme/hello-gitops", "https://gitlab.example.com/hello-gitops",
				"https://gitlab.example.com/acme/teams/kaizen/deep/hello-gitops", "https://gitlab.example.com/acme/teams/kaizen2/hello-gitops",
				"https://gitlab.example.com/acme/teams/kaizen/hello-x/gitops", "https://gitlab.example.com/acme/teams/kaizen",
			},
		},
		{
			name: "projects of an organization", source: "https://dev.azure.com/acme/apps/_git/hello",
			own:    []string{"https://dev.azure.com/acme/apps/_git/hello-gitops", "https://acme.visualstudio.com/apps/_git/hello-gitops", "git@ssh.dev.azure.com:v3/acme/apps/hello-gitops"},
			others: []string{"https://dev.azure.com/acme/platform/_git/hello-gitops", "https://dev.azure.com/other/apps/_git/hello-gitops"},
		},
		{
			name: "another port", source: "http://127.0.0.1:3000/kaizen/hello",
			own:    []string{"http://127.0.0.1:3000/kaizen/hello-gitops"},
			others: []string{"http://127.0.0.1:3001/kaizen/hello-gitops", "http://127.0.0.1/kaizen/hello-gitops", "https://127.0.0.1/kaizen/hello-gitops"},
		},
		{
			name: "repositories that are listed", source: "https://github.com/acme/hello", listed: []string{"https://github.com/acme/manifests", "git@gitlab.com:kaizen/values.git"},
			own:    []string{"https://github.com/acme/manifests.git", "https://gitlab.com/kaizen/values", "https://github.com/acme/hello-gitops"},
			others: []string{"https://github.com/acme/manifests-more", "https://github.com/acme/manifests/more", "https://gitlab.com/kaizen/values2", "https://github.com/acme/Manifests"},
		},
		{
			name: "a source without a host", source: "/srv/hello", listed: []string{"/srv/manifests"},
			others: []string{"/srv/hello", "/srv/hello-gitops", "/srv/manifests", "https://github.com/srv/hello-gitops"},
		},
	} {
		r := Request{Source: tc.source, Repositories: tc.listed}
		for want, repositories := range map[bool][]string{true: tc.own, false: tc.others} {
			for _, repository := range repositories {
				if r.owns(repository) != want {
					t.Errorf("%s: %s owns %s: %t", tc.name, tc.source, repository, !want)
				}
			}
		}
	}
}

// TestApplicationsCannotUseThePlatform checks that the platform's repositories are never allowed, in any case, listed or not,
// and that hosts must be known.
func TestApplicationsCannotUseThePlatform(t *testing.T) {
	bounds := Bounds{
		Known:     func(repository string) bool { return !strings.Contains(repository, "169.254.169.254") },
		Platforms: []string{"https://github.com/acme/gitops", "", "::"},
	}
	r := Request{Source: "https://github.com/acme/hello", Repositories: []string{"https://github.com/acme/gitops", "https://github.com/acme/manifests"}}
	for repository, want := range map[string]error{
		"https://github.com/acme/gitops":       ErrPlatforms,
		"https://GitHub.com/ACME//GitOps.git/": ErrPlatforms,
		"git@github.com:acme/gitops.git":       ErrPlatforms,
		"http://169.254.169.254/acme/hello":    ErrHost,
		"https://github.com/acme/payments":     ErrOthers,
		"https://github.com/acme/manifests":    nil,
		"https://github.com/acme/hello-gitops": nil,
	} {
		if got := bounds.Allow(r, repository); !errors.Is(got, want) {
			t.Errorf("%s: got %v, want %v", repository, got, want)
		}
	}
}

func ExampleBounds_Allow() {
	bounds := Bounds{Known: func(string) bool { return true }, Platforms: []string{"https://github.com/acme/platform-gitops"}}
	r := Request{Source: "https://github.com/acme/hello-src", Repositories: []string{"https://github.com/acme/manifests"}}
	for _, name := range []string{"hello-gitops", "manifests", "platform-gitops"} {
		fmt.Println(name, bounds.Allow(r, "https://github.com/acme/"+name))
	}
	// Output:
	// hello-gitops <nil>
	// manifests <nil>
	// platform-gitops it belongs to the platform; an application cannot use it
}
