package local

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestStatements: SQLite accepts each statement of queries.sql.
func TestStatements(t *testing.T) {
	f := newForge(t, Options{})
	for name, text := range queries {
		statement, err := f.db.PrepareContext(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := statement.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStatementNames: queries.sql has each statement that the code names, and no other.
func TestStatementNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]bool{"execute": true, "affected": true, "row": true, "queryAll": true}
	literals := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					literals[text] = true
				}
			case *ast.CallExpr:
				if called, ok := n.Fun.(*ast.Ident); ok && run[called.Name] {
					checkStatementName(t, file, n)
				}
			}
			return true
		})
	}
	for name := range queries {
		if !literals[name] {
			t.Errorf("no code runs the statement %s", name)
		}
	}
}

// checkStatementName checks the first text among the arguments of a call, which is the name of a statement.
func checkStatementName(t *testing.T, file string, call *ast.CallExpr) {
	t.Helper()
	for _, argument := range call.Args {
		literal, ok := argument.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if name, err := strconv.Unquote(literal.Value); err != nil || queries[name] == "" {
			t.Errorf("%s: queries.sql has no statement %s", file, literal.Value)
		}
		return
	}
}
