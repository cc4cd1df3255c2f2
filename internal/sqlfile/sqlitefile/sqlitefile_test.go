package sqlitefile_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kalypso-io/kalypso/internal/sqlfile/sqlitefile"
)

func TestMigrate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a #?% name.db")
	if err := sqlitefile.Create(file); err != nil {
		t.Fatal(err)
	}
	db, err := sqlitefile.Open(file, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	script := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tables := fstest.MapFS{"migrations/0001_tables.sql": script("CREATE TABLE a (x);")}
	views := fstest.MapFS{"migrations/0002_views.sql": script("CREATE VIEW b AS SELECT x FROM a;")}
	for range 2 {
		if err := sqlitefile.Migrate(t.Context(), db, views, tables); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(), "SELECT x FROM b"); err != nil {
		t.Error(err)
	}
	if err := sqlitefile.Migrate(t.Context(), db, tables); err == nil || !strings.Contains(err.Error(), "newer than this program") {
		t.Errorf("an older program: %v", err)
	}
	views["migrations/0003_broken.sql"] = script("CREATE TABLE c (x); CREATE;")
	if err := sqlitefile.Migrate(t.Context(), db, tables, views); err == nil || !strings.Contains(err.Error(), "apply 0003_broken.sql") {
		t.Errorf("a broken script: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT x FROM c"); err == nil {
		t.Error("the broken script left a table")
	}
}
