package schedule

import (
	"strings"
	"testing"
)

func TestRecordedInputsAreThoseOfTheNewestGeneratedCommit(t *testing.T) {
	commit := func(digit string) string { return strings.Repeat(digit, 40) }
	generated := func(lines ...string) string {
		return "dev: 1 changed\n\n" + scheduledBy + "control plane dev@aaaaaaa.\n\nKalypso-Inputs: " + strings.Join(lines, "\nKalypso-Inputs: ") + "\n"
	}
	recorded := recordedIn([]string{
		"Merge pull request 2\n\nKalypso-Inputs: dev@" + commit("f"), // a user can write anything
		generated("dev@"+commit("a"), "main@"+commit("b"), "https://git.example/shop@"+commit("c"), "https://git.example/shop@"+commit("d"), "https://git.example/bank@short"),
		generated("dev@" + commit("e")),
	})
	for name, want := range map[string]string{
		"dev": commit("a"), "main": commit("b"), "stage": "",
		"https://git.example/shop": "", // two branches of it: which one is not known
		"https://git.example/bank": "",
	} {
		if got := recorded(name, Location{}); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if recordedIn([]string{"by hand", "dev@" + commit("a")}) != nil {
		t.Error("messages of users name inputs")
	}
}
