package nearest

import (
	"slices"
	"strings"
	"testing"
)

func TestAll(t *testing.T) {
	known := []string{"shop", "shop-eu", "art", "prod", "dev", "dev", "Web"}
	for word, want := range map[string][]string{
		"shpo":                      {"shop"}, // neighbours swapped
		"sho":                       {"shop", "shop-eu"},
		"production":                {"prod"},
		"web":                       {"Web"},
		"dv":                        {"dev"},
		"nginx":                     nil,
		"":                          nil,
		strings.Repeat("shop", 100): nil,
	} {
		if got := All(word, known); !slices.Equal(got, want) {
			t.Errorf("%.20q: got %q, want %q", word, got, want)
		}
	}
}

func TestName(t *testing.T) {
	known := []string{"west-us", "east-us", "size", "Region"}
	for word, want := range map[string]string{
		"esat-us":                   "east-us", // neighbours swapped
		"west-u":                    "west-us", // closer than east-us
		"region":                    "Region",
		"sizes":                     "size",
		"szie":                      "size",
		"zise":                      "", // two of four are too many
		"north":                     "",
		"":                          "",
		strings.Repeat("size", 100): "",
	} {
		if got := Name(word, known); got != want {
			t.Errorf("Name(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Name("b", []string{"c", "a"}); got != "a" {
		t.Errorf("of two equally near ones it is %q, want the first by name", got)
	}
}

func TestBeginning(t *testing.T) {
	known := []string{"control-plane", "config", "environment"}
	for word, want := range map[string]string{"conf": "config", "con": "", "enviroment": "environment", "env": "environment", "": "", "x": ""} {
		if got := Beginning(word, known); got != want {
			t.Errorf("Beginning(%q) = %q, want %q", word, got, want)
		}
	}
}
