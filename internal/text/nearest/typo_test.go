package nearest

import "testing"

func TestTypo(t *testing.T) {
	known := []string{"deploymentTargets", "labels", "spec", "data", "id", "west-2", "west", "v1alpha1"}
	for word, want := range map[string]string{
		"deploymentTarget":   "deploymentTargets",
		"deploymenttargets":  "deploymentTargets",
		"lables":             "labels", // neighbours swapped
		"labells":            "labels",
		"labelz":             "labels",
		"sepc":               "spec",
		"spec":               "",
		"LABELZ":             "", // two differences
		"metadata":           "",
		"date":               "data",
		"ID":                 "id",
		"ip":                 "", // most short words are similar
		"":                   "",
		"west-1":             "",
		"v1alpha":            "",
		"deploymentTargetss": "deploymentTargets",
	} {
		if got := Typo(word, known); got != want {
			t.Errorf("Typo(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Typo("cat", []string{"hat", "bat"}); got != "bat" {
		t.Errorf("of two names it is %q, want the first by name", got)
	}
}
