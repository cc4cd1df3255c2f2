package web

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// TestSimilarNamesLinkToPages checks that an error for a misspelled name links to pages with similar names.
func TestSimilarNamesLinkToPages(t *testing.T) {
	for what, want := range map[string]string{
		"environment": "/environments/a%2Fb", "workload": "/workloads/a%2Fb", "application": "/workloads/a%2Fb",
		"cluster": "/clusters/a%2Fb", "promotion of commit": "/promotions/a%2Fb", "control plane": "",
	} {
		f := failureOf(query.Unknown(what, "ab", []string{"a/b"}))
		got := ""
		if len(f.Choices) > 0 {
			got = f.Choices[0].Address
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
}
