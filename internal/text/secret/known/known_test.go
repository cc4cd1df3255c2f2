package known

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func TestHide(t *testing.T) {
	var s set
	key := "-----BEGIN KEY-----\nMC4CAQAwBQYDK2VwBCIEIJx9\nshort\n-----END KEY-----\n"
	s.add([]secret.Value{secret.New("s3cr3t-token"), secret.New("short"), secret.New(key), {}})
	for text, want := range map[string]string{
		"bad s3cr3t-token, short":               "bad ***, short",
		"line 2 is MC4CAQAwBQYDK2VwBCIEIJx9":    "line 2 is ***",
		"line 1 is -----BEGIN KEY-----":         "line 1 is -----BEGIN KEY-----",
		"get https://me:pass@host/a?b=c: no":    "get https://host/a no",
		`{"message":"s3cr3t-token is expired"}`: `{"message":"*** is expired"}`,
	} {
		if got := s.hider()(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Credentials that replace each other for years do not fill the memory.
func TestTheOldestAreForgotten(t *testing.T) {
	var s set
	for i := range 2 * most {
		s.add([]secret.Value{secret.New(fmt.Sprintf("token-%06d", i))})
	}
	if len(s.texts) != most || s.hider()("token-001999") != "***" || s.hider()("token-000001") != "token-000001" {
		t.Errorf("%d are remembered, want %d, the newest", len(s.texts), most)
	}
}
