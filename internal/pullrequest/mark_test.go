package pullrequest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func aText(commit, input string) string {
	m := Mark{Name: "dev", Digest: "d", Base: "b", Commit: commit, Inputs: map[string]string{"dev": input}}
	return forge.Mark("the plan\n\nproblem 7\n\n"+sourcePrefix+"from "+input+"</sub>\n", m.String(), 0)
}

func TestTextsWithOtherInputsAreTheSame(t *testing.T) {
	one := aText("c", "1")
	if !same(one, aText("c", "2")) {
		t.Error("other inputs count")
	}
	if !same(strings.ReplaceAll(one, "\n", "\r\n"), one) {
		t.Error("the forge's line ends count")
	}
	if same(one, aText("another", "1")) {
		t.Error("another commit does not count")
	}
	if same(strings.Replace(one, "problem 7", "my own words", 1), one) {
		t.Error("what a user wrote does not count")
	}
}

// TestMarkIsReadAsItWasWritten, whatever names the inputs have.
func TestMarkIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[ -~äö]{0,12}`), rapid.StringMatching(`[-<>! a]{0,8}`))
		want := Mark{
			Name: text.Draw(t, "name"), Digest: "d", Base: text.Draw(t, "base"), Commit: text.Draw(t, "commit"),
			Statuses: map[string]forge.StatusState{text.Draw(t, "context"): forge.Success},
			Inputs:   map[string]string{text.Draw(t, "input"): text.Draw(t, "commit of it")},
		}
		got := MarkOf(forge.Mark("the plan\n", want.String(), 0))
		if got.String() != want.String() {
			t.Errorf("wrote %s, read %s", want, got)
		}
	})
}

func TestInvalidMarkIsZero(t *testing.T) {
	for _, body := range []string{"", "kalypso:{", "<!-- kalypso:[1] -->", "<!-- kalypso:{\"digest\": 1} -->", "> <!-- kalypso:{\"digest\":\"quoted\"} -->"} {
		if diff := cmp.Diff(Mark{}, MarkOf(body)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", body, diff)
		}
	}
}
