package kalypso

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestPackageDocs: every package tells its story, once.
func TestPackageDocs(t *testing.T) {
	for _, p := range goPackages(t) {
		docs := 0
		for _, file := range p.files {
			if file.Doc != nil && !ast.IsGenerated(file) {
				docs++
			}
		}
		if docs != 1 {
			t.Errorf("%s: package %s has %d package comments, want 1", p.folder, p.name, docs)
		}
	}
}

// TestExportedDocs: everything that other packages can use says what it promises.
func TestExportedDocs(t *testing.T) {
	for _, p := range goPackages(t) {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				for _, name := range undocumented(decl) {
					t.Errorf("%s: exported %s has no comment", p.position(decl), name)
				}
			}
		}
	}
}

// undocumented are the exported names of a declaration that have no comment.
// A comment on a group of constants or variables counts for all of them.
func undocumented(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil && d.Lparen == token.NoPos || d.Doc != nil && d.Tok != token.TYPE {
			return nil
		}
		var names []string
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(spec ast.Spec) []string {
	var names []string
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			names = append(names, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if s.Doc == nil && s.Comment == nil && name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// exportedReceiver says whether a function is no method, or the method of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	receiver := d.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return true
		}
	}
}

// initializes is the one package with a function init: what it delays begins before main does, and calling it there would be too late.
const initializes = "internal/cli/garbage/"

// TestNoInit: nothing happens because a package was imported.
func TestNoInit(t *testing.T) {
	for _, p := range goPackages(t) {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && !strings.HasPrefix(p.position(f), initializes) {
					t.Errorf("%s: func init; call it by a name, from where it is needed", p.position(f))
				}
			}
		}
	}
}

// TestErrorsSayWhat: an error reads as a path of what was done, not as a list of failures.
func TestErrorsSayWhat(t *testing.T) {
	for _, p := range goPackages(t) {
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if text := errorText(n); strings.HasPrefix(text, "failed ") || strings.HasPrefix(text, "error ") {
					t.Errorf("%s: error %q; name what was done: \"read %%q: %%w\"", p.position(n), text)
				}
				return true
			})
		}
	}
}

// errorText is the text of a call of fmt.Errorf or errors.New.
func errorText(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || function.Sel.Name != "Errorf" && function.Sel.Name != "New" {
		return ""
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return ""
	}
	return strings.Trim(text.Value, "\"`")
}
