package comply_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

const (
	sha1   = "0123456789abcdef0123456789abcdef01234567"
	sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

func TestParseRevision(t *testing.T) {
	for text, want := range map[string]comply.Revision{
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
		if got := comply.ParseRevision(text); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func FuzzParseRevision(f *testing.F) {
	for _, seed := range []string{"main@sha1:" + sha1, "sha1:" + sha1, "main/" + sha1, sha256, "refs/heads/ x", "@", "/", ":", "refs/heads/" + sha1} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := comply.ParseRevision(text)
		if again := comply.ParseRevision(once.String()); again != once {
			t.Errorf("%q: %+v is written %q and read as %+v", text, once, once, again)
		}
	})
}

func TestParseGateReportsInvalidValues(t *testing.T) {
	for _, require := range []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(-3), intstr.FromString("0%"), intstr.FromString("101%"), intstr.FromString("most")} {
		gate, err := comply.ParseGate(&v1alpha1.Gate{Require: &require})
		if err == nil || gate != (comply.Gate{}) {
			t.Errorf("require %v: got %+v and %v, want all of them and an error", require, gate, err)
		}
	}
	gate, err := comply.ParseGate(&v1alpha1.Gate{Offline: "maybe"})
	if err == nil || gate.Offline != v1alpha1.OfflineBlock {
		t.Errorf("offline maybe: got %q and %v, want the strictest and an error", gate.Offline, err)
	}
}
