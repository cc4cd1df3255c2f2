package fleet_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

func TestNearest(t *testing.T) {
	known := []string{"west-us", "east-us", "size", "Region"}
	for word, want := range map[string]string{
		"esat-us":                   "east-us", // neighbours swapped
		"west-u":                    "west-us", // closer than east-us
		"region":                    "Region",
		"sizes":                     "size",
		"zise":                      "", // two of four are too many
		"north":                     "",
		"":                          "",
		strings.Repeat("size", 100): "",
	} {
		if got := fleet.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := fleet.Nearest("b", []string{"c", "a"}); got != "a" {
		t.Errorf("of two equally near ones it is %q, want the first by name", got)
	}
}
