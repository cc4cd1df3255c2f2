package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// TestFresh: what is committed is what the source says.
func TestFresh(t *testing.T) {
	comments, err := generate("../../../..", api.Types())
	if err != nil {
		t.Fatal(err)
	}
	description, err := api.Describe(comments)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{"../comments.json": comments, "../../../../docs/reference/openapi.yaml": description} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("%s is stale; run make generate (-committed +generated):\n%s", file, diff)
		}
	}
}

func TestSentence(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"Gate", "Gate is how many clusters run it.", "How many clusters run it."},
		{"After", "After are the environments.", "The environments."},
		{"Gate", "Gate says how many.", "Gate says how many."},
		{"Gate", "It is of a gate.", "It is of a gate."},
		{"Gate", "Gate is ", "Gate is "},
	} {
		if got := sentence(tc.text, tc.name); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
}
