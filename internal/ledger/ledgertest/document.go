package ledgertest

import (
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Document runs the queries on a documentation page, which must work on every database.
func Document(t *testing.T, db *sql.DB, page string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		t.Fatalf("%s shows no queries", page)
	}
	for _, block := range blocks {
		for _, query := range strings.Split(strings.TrimSuffix(strings.TrimSpace(block[1]), ";"), ";\n") {
			rows, err := db.QueryContext(t.Context(), query)
			if err != nil {
				t.Errorf("%s: %v", query, err)
				continue
			}
			for rows.Next() {
			}
			if err := rows.Err(); err != nil {
				t.Errorf("%s: %v", query, err)
			}
		}
	}
}
