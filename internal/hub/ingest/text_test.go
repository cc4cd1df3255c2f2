package ingest

import (
	"strings"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// TestLongMessageKeepsItsCause: a message that is too long loses its middle, and stays valid UTF-8.
func TestLongMessageKeepsItsCause(t *testing.T) {
	for _, filler := range []string{"x", "ä", "日"} {
		got := message("kustomize build failed: " + strings.Repeat(filler, 5000) + ": image not found")
		if len(got) > hub.MaxMessage || len(got) < hub.MaxMessage-10 {
			t.Errorf("%d bytes", len(got))
		}
		if !strings.HasPrefix(got, "kustomize build failed: ") || !strings.HasSuffix(got, ": image not found") || strings.ToValidUTF8(got, "?") != got {
			t.Errorf("got %q", got)
		}
	}
}
