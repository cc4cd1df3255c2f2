package sqlfile

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// Migrate brings a database from a version to the newest, and returns the newest version.
// Versions are the scripts in the folder "migrations" of all sources, by name.
// A database of a newer program is an error.
func Migrate(ctx context.Context, tx *sql.Tx, version int, sources ...fs.FS) (int, error) {
	scripts := map[string]string{}
	for _, source := range sources {
		names, err := fs.Glob(source, "migrations/*.sql")
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			script, err := fs.ReadFile(source, name)
			if err != nil {
				return 0, err
			}
			scripts[path.Base(name)] = string(script)
		}
	}
	names := slices.Sorted(maps.Keys(scripts))
	if version > len(names) {
		return 0, fmt.Errorf("schema version %d is newer than this program, which knows up to %d: use a newer one", version, len(names))
	}
	for _, name := range names[version:] {
		if _, err := tx.ExecContext(ctx, scripts[name]); err != nil {
			return 0, fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return len(names), nil
}
