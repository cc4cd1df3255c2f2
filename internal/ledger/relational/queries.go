package relational

import (
	"embed"

	"github.com/kalypso-io/kalypso/internal/sqlfile"
)

var (
	// Migrations are the scripts that are the same for all databases.
	//
	//go:embed migrations/*.sql
	Migrations embed.FS
	//go:embed queries.sql
	queriesFile string

	queries = sqlfile.ParseQueries(queriesFile)
)
