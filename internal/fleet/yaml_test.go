package fleet_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// In JSON, a character outside of the Basic Multilingual Plane is two escapes, which YAML does not have.
func TestSurrogatesInJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "\ud83d\ude00"}`:               "\U0001F600",
		`{"a": "\uD83D\uDE00\ud83d\ude01 b"}`: "\U0001F600\U0001F601 b",
		`{"a": "\\ud83d\\ude00"}`:             `\ud83d\ude00`,
		`{"a": "\\\ud83d\ude00"}`:             "\\\U0001F600",
		"a: '\\ud83d\\ude00'":                 `\ud83d\ude00`, // YAML: not an escape
	} {
		var got struct{ A string }
		if err := fleet.UnmarshalYAML([]byte(text), &got); err != nil || got.A != want {
			t.Errorf("%s: got %q, %v, want %q", text, got.A, err, want)
		}
		roots, _, err := fleet.ParseYAML([]byte(text), 2)
		if err != nil || len(roots) != 1 || roots[0].Content[1].Value != want {
			t.Errorf("%s: got %v, %v", text, roots, err)
		}
	}
}
