package web_test

import (
	"strings"
	"testing"
)

// TestFiltersOfferNames: the filters of lists name what there is, and keep a name that is gone.
func TestFiltersOfferNames(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	for address, want := range map[string]string{
		"/history":                  "all large-01 large-02 large-03",
		"/history?cluster=large-02": "all large-01 large-02 large-03",
		"/history?workload=hello":   "all hello",
		"/needs":                    "all dev stage",
		"/map?environment=dev":      "all hello",
		"/needs?environment=gone":   "all dev gone stage",
	} {
		found := strings.Join(w.see(address).texts(".filter select"), "; ")
		if !strings.Contains(found, want) {
			t.Errorf("%s: the filters offer %q, want %q", address, found, want)
		}
	}
	if chosen := w.see("/history?cluster=large-02").texts("option[selected]"); len(chosen) != 1 || chosen[0] != "large-02" {
		t.Errorf("the filter has %q", chosen)
	}
}
