package main

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/kalypso-io/kalypso/internal/serve/api"
)

const module = "github.com/kalypso-io/kalypso/"

// generate returns the comments of types, and of their fields, from the source of their packages.
// Types of other modules have none.
func generate(root string, types []reflect.Type) ([]byte, error) {
	wanted := map[string]map[string]string{} // keys of types by folder and name
	for _, t := range types {
		if folder, ours := strings.CutPrefix(t.PkgPath(), module); ours {
			name, _, _ := strings.Cut(t.Name(), "[")
			if wanted[folder] == nil {
				wanted[folder] = map[string]string{}
			}
			wanted[folder][name] = api.CommentKey(t)
		}
	}
	comments := map[string]string{}
	for folder, keys := range wanted {
		if err := read(comments, filepath.Join(root, folder), keys); err != nil {
			return nil, err
		}
	}
	return encode(comments)
}

// read adds the comments of some types of a package.
func read(comments map[string]string, folder string, keys map[string]string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("read the source: %w", err)
	}
	for _, f := range files {
		if path.Ext(f.Name()) != ".go" || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, f.Name()), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				readTypes(comments, g, keys)
			}
		}
	}
	return nil
}

func readTypes(comments map[string]string, g *ast.GenDecl, keys map[string]string) {
	for _, spec := range g.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok || keys[t.Name.Name] == "" {
			continue
		}
		about := t.Doc
		if about == nil && len(g.Specs) == 1 {
			about = g.Doc
		}
		key := keys[t.Name.Name]
		put(comments, key, about, t.Name.Name)
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range s.Fields.List {
			text := f.Doc
			if text == nil {
				text = f.Comment
			}
			for _, name := range f.Names {
				if name.IsExported() { // the others are in no answer
					put(comments, key+"."+name.Name, text, name.Name)
				}
			}
		}
	}
}

var (
	marker = regexp.MustCompile(`(?m)^\+.*$`)
	// required is a remark for who fills in a field in Go.
	required = regexp.MustCompile(`\s*//\s*required\b`)
	link     = regexp.MustCompile(`\[\*?([A-Za-z][\w.]*)\]`)
)

// put adds a comment as a sentence that needs no Go to be understood: links lose their brackets, and a name at the
// beginning that is Go's goes away where what follows is a sentence of its own.
func put(comments map[string]string, key string, group *ast.CommentGroup, name string) {
	text := required.ReplaceAllString(marker.ReplaceAllString(group.Text(), ""), "")
	text = link.ReplaceAllString(text, "$1")
	var printer comment.Printer
	printer.TextWidth = -1
	text = string(printer.Text(new(comment.Parser).Parse(text)))
	if text = strings.TrimSpace(text); text != "" {
		comments[key] = sentence(text, name)
	}
}

// sentence leaves out "Name is" at the beginning: "Gate is how many clusters run it" is "How many clusters run it".
func sentence(text, name string) string {
	for _, begin := range []string{name + " is ", name + " are "} {
		if rest, ok := strings.CutPrefix(text, begin); ok && rest != "" {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}
