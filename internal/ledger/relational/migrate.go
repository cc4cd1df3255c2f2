package relational

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
)

// shared are the migrations that are the same for all databases.
//
//go:embed migrations/*.sql
var shared embed.FS

// Migrate brings a database from a version to the newest, and returns the newest version.
// Versions are the scripts in the folder "migrations" of files and of this package, by name.
// A database of a newer program is an error.
func Migrate(ctx context.Context, tx *sql.Tx, files embed.FS, version int) (int, error) {
	const scripts = "migrations/*.sql"
	own, err := fs.Glob(files, scripts)
	if err != nil {
		return 0, err
	}
	common, err := fs.Glob(shared, scripts)
	if err != nil {
		return 0, err
	}
	names := slices.Sorted(slices.Values(append(own, common...)))
	if version > len(names) {
		return 0, fmt.Errorf("schema version %d is newer than this program, which knows up to %d: use a newer one", version, len(names))
	}
	for _, name := range names[version:] {
		from := files
		if slices.Contains(common, name) {
			from = shared
		}
		script, err := from.ReadFile(name)
		if err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return 0, fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return len(names), nil
}
