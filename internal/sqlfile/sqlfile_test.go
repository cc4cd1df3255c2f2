package sqlfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/sqlfile"
)

func TestParseQueries(t *testing.T) {
	got := sqlfile.ParseQueries("-- About the file.\n\n-- name: one\n-- Why.\nSELECT 1\n  FROM a;\n\n-- name: two\nSELECT 2;\n")
	if diff := cmp.Diff(sqlfile.Queries{"one": "SELECT 1\n  FROM a", "two": "SELECT 2"}, got); diff != "" {
		t.Error(diff)
	}
}
