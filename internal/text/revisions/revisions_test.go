package revisions_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

const (
	sha1   = "0123456789abcdef0123456789abcdef01234567"
	sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]revisions.Revision{
		"main@sha1:" + sha1:            {Name: "main", Hash: sha1},
		"feature/a@b@sha1:" + sha1:     {Name: "feature/a@b", Hash: sha1},
		"refs/heads/main@sha1:" + sha1: {Name: "main", Hash: sha1},
		"latest@sha256:" + sha256:      {Name: "latest", Hash: sha256},
		"sha1:" + sha1:                 {Hash: sha1},
		"main/" + sha1:                 {Name: "main", Hash: sha1},
		"feature/x/" + sha1:            {Name: "feature/x", Hash: sha1},
		sha1:                           {Hash: sha1},
		" 0123456789ABCDEF0123456789abcdef01234567\n": {Hash: sha1},
		sha256:           {Hash: sha256},
		"v1.2.3":         {Name: "v1.2.3"},
		"0123456":        {Name: "0123456"}, // abbreviated hashes can become ambiguous
		"main@sha1:abc":  {Name: "main@sha1:abc"},
		"sha1:" + sha256: {Name: "sha1:" + sha256},
		"":               {},
	} {
		if got := revisions.Parse(text); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"main@sha1:" + sha1, "sha1:" + sha1, "main/" + sha1, sha256, "refs/heads/ x", "@", "/", ":", "refs/heads/" + sha1} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := revisions.Parse(text)
		if again := revisions.Parse(once.String()); again != once {
			t.Errorf("%q: %+v is written %q and read as %+v", text, once, once, again)
		}
	})
}
