package sqlfile

import "strings"

// Queries are SQL statements by name.
type Queries map[string]string

// ParseQueries reads statements from the text of a file. A line "-- name: NAME" begins each of them. Comments are left out,
// and so is the semicolon at the end.
func ParseQueries(text string) Queries {
	q := Queries{}
	_, text, _ = strings.Cut(text, "\n-- name: ")
	for part := range strings.SplitSeq(text, "\n-- name: ") {
		name, body, _ := strings.Cut(part, "\n")
		var statement strings.Builder
		for line := range strings.Lines(body) {
			if !strings.HasPrefix(line, "-- ") {
				statement.WriteString(line)
			}
		}
		q[name] = strings.TrimSuffix(strings.TrimSpace(statement.String()), ";")
	}
	return q
}

// Get returns a statement by its name. It panics if the name is unknown, which is a mistake in the program.
func (q Queries) Get(name string) string {
	statement, ok := q[name]
	if !ok {
		panic("unknown query " + name)
	}
	return statement
}
