package web_test

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/serve/web"
)

var update = flag.Bool("update", false, "write what tests get to testdata")

// version matches the version of a style or script.
var version = regexp.MustCompile(`\?v=[0-9a-f]+`)

// TestFleetPage compares one whole page, so that reviews show changes of the layout.
func TestFleetPage(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.pages.Links = []web.Link{{Name: "Repositories", Address: "https://kalypso.example.com/-/repositories"}}
	const file = "testdata/fleet.html"
	got := version.ReplaceAllString(w.ask("/").Body.String(), "?v=")
	if *update {
		w.must(os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	w.must(err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
