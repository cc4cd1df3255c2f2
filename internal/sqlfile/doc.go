// Package sqlfile migrates schemas, and reads named statements from .sql files, for everything that keeps data in SQL.
package sqlfile
