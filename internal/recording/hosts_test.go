package recording_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/kalypso-io/kalypso/internal/recording"
)

// Environments are recorded at the same time, and each adds the hosts that it names.
func TestHostsAreSharedByEnvironments(t *testing.T) {
	var hosts recording.Hosts
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
		t.Error("a host is known that nobody added")
	}
}
