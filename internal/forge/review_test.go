package forge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

const reviewed = "0123456789abcdef0123456789abcdef01234567"

func TestLastReviews(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	v := func(login, account string, d forge.ReviewDecision) forge.Review {
		return forge.Review{Login: login, Account: account, Decision: d, Commit: reviewed, At: at, URL: "https://forge.example.com/1"}
	}
	unsafe := v("mallory", "9", forge.Approved)
	unsafe.URL, unsafe.Commit = "javascript:alert(1)", "HEAD"
	safe := unsafe
	safe.URL, safe.Commit, safe.Unknown = "", "", "the forge does not tell which commit was reviewed"
	for name, test := range map[string]struct{ all, want []forge.Review }{
		"none":                        {nil, []forge.Review{}},
		"the last decision counts":    {[]forge.Review{v("ada", "1", forge.Approved), v("ada", "1", forge.ChangesRequested)}, []forge.Review{v("ada", "1", forge.ChangesRequested)}},
		"an account that was renamed": {[]forge.Review{v("ada", "1", forge.Approved), v("grace", "1", forge.Withdrawn)}, []forge.Review{v("grace", "1", forge.Withdrawn)}},
		"sorted by account":           {[]forge.Review{v("b", "2", forge.Approved), v("a", "1", forge.Approved)}, []forge.Review{v("a", "1", forge.Approved), v("b", "2", forge.Approved)}},
		"no account": {[]forge.Review{
			v("", "1", forge.Approved), v("ghost", "", forge.Approved), v("a\x00b", "3", forge.Approved),
			v(" ada", "4", forge.Approved), v(strings.Repeat("a", 300), "5", forge.Approved),
		}, []forge.Review{}},
		"hostile texts": {[]forge.Review{unsafe}, []forge.Review{safe}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, forge.LastReviews(test.all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSameLogin(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"ada", "Ada", true},
		{"ada-lovelace", "ADA-Lovelace", true},
		{"kim", "\u212Aim", false}, // the Kelvin sign folds to k
		{"sam", "\u017Fam", false}, // the long s folds to s
		{"ada", "\u0430da", false}, // Cyrillic
		{"ada", "ada[bot]", false},
		{"ada", "ada ", false},
		{"", "", false},
	} {
		if got := forge.SameLogin(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: got %v", test.a, test.b, got)
		}
	}
}
