package relational

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
)

// Migrate brings a database from a version to the newest, and returns its number: that of the last file.
// Files are scripts named by their number. A database that a newer program made is refused.
func Migrate(ctx context.Context, tx *sql.Tx, files fs.FS, version int) (int, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	if version > len(names) {
		return 0, fmt.Errorf("it has version %d, and this program knows up to %d: use a newer one", version, len(names))
	}
	for _, name := range names[version:] {
		script, err := fs.ReadFile(files, name)
		if err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return 0, fmt.Errorf("apply %s: %w", path.Base(name), err)
		}
	}
	return len(names), nil
}
