package ledger_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestCleanSubject(t *testing.T) {
	for raw, want := range map[string]string{
		"git@git.example.com:team/shop.git#shop":          "https://git.example.com/team/shop#shop",
		" http://git.example.com/team/shop#shop ":         "https://git.example.com/team/shop#shop",
		"https://git.example.com/team/shop#shop":          "https://git.example.com/team/shop#shop",
		"https://git.example.com/platform/control-plane/": "https://git.example.com/platform/control-plane",
		"/srv/git/shop#shop":                              "/srv/git/shop#shop",
		"#shop":                                           ledger.CleanRepository("#shop"),
	} {
		if got := ledger.CleanSubject(raw); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
		if got := ledger.CleanSubject(want); got != want {
			t.Errorf("%q: the clean one becomes %q", raw, got)
		}
	}
}
