package schedule

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// An empty file is written; only one without content is deleted.
func TestEdits(t *testing.T) {
	put, remove := Edits([]bundle.Change{
		{Path: "b", Content: []byte("b")}, {Path: "gone"}, {Path: "empty", Content: []byte{}}, {Path: "also"},
	})
	if diff := cmp.Diff(map[string][]byte{"b": []byte("b"), "empty": {}}, put); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"gone", "also"}, remove); diff != "" {
		t.Error(diff)
	}
}
