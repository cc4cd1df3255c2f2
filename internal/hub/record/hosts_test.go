package record_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/record"
)

// Environments are recorded at the same time, and each adds the hosts that it names.
func TestHostsAreSharedByEnvironments(t *testing.T) {
	var hosts record.Hosts
	var environments sync.WaitGroup
	for e := range 8 {
		environments.Go(func() {
			for n := range 1000 {
				url := fmt.Sprintf("https://git-%d-%d.example.com/acme/app", e, n)
				hosts.Add(url)
				if !hosts.Know(url) {
					t.Errorf("%s was added and is not known", url)
				}
			}
		})
	}
	environments.Wait()
	if hosts.Know("https://elsewhere.example.com/acme/app") {
		t.Error("a host is known that was not added")
	}
}

// A forge is configured by its own address, and everything on it is known then.
func TestHostsOfForges(t *testing.T) {
	var hosts record.Hosts
	hosts.Add("https://git.example.com", "http://127.0.0.1:8080/", "https://example.com:443/gitea", "/srv/git", "not a URL", "")
	for repository, want := range map[string]bool{
		"https://git.example.com/acme/app":      true,
		"http://127.0.0.1:8080/acme/app":        true,
		"http://127.0.0.1:8081/acme/app":        false,
		"https://example.com/gitea/acme/app":    true,
		"https://other.example.com/acme/app":    false,
		"/srv/git/app":                          false,
		"https://git.example.com.evil/acme/app": false,
	} {
		if got := hosts.Know(repository); got != want {
			t.Errorf("%s: known %t, want %t", repository, got, want)
		}
	}
}

// Ledgers write every repository with https. Whether a host has it, those know who named the host.
func TestHostsAreReachedAsTheyWereNamed(t *testing.T) {
	var hosts record.Hosts
	hosts.Add("http://git.example.com:3000/acme/app", "HTTP://Plain.example.com", "http://both.example.com", "https://both.example.com",
		"git@plain.example.com:acme/app", "git@safe.example.com:acme/app", "https://safe.example.com", "git@ssh.example.com:acme/app")
	for repository, want := range map[string]string{
		"https://git.example.com:3000/acme/app": "http://git.example.com:3000/acme/app",
		"https://plain.example.com/acme/app":    "http://plain.example.com/acme/app",
		"https://both.example.com/acme/app":     "https://both.example.com/acme/app",
		"https://safe.example.com/acme/app":     "https://safe.example.com/acme/app",
		"https://ssh.example.com/acme/app":      "https://ssh.example.com/acme/app",
		"https://unknown.example.com/acme/app":  "https://unknown.example.com/acme/app",
		"oci://plain.example.com/acme/app":      "oci://plain.example.com/acme/app",
		"/srv/git/app":                          "/srv/git/app",
		"":                                      "",
	} {
		if got := hosts.Reach(repository); got != want {
			t.Errorf("%s: got %s, want %s", repository, got, want)
		}
	}
}
