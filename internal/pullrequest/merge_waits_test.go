package pullrequest_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

func TestWaitsForChecks(t *testing.T) {
	for waits, want := range map[string]bool{
		"status build is pending": true, "checks of the commit may still appear, until 10:00:00 UTC": true,
		"status build is failure": false, "the forge does not merge it yet: a status is pending": false, "": false,
	} {
		if got := pullrequest.WaitsForChecks(waits); got != want {
			t.Errorf("%q: got %v", waits, got)
		}
	}
}
