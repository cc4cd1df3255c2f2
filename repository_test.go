package kalypso

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goPackage is a package of this module, parsed without its tests.
type goPackage struct {
	folder string // from the root of the module, with forward slashes; "." for the root
	name   string
	files  []*ast.File
	fset   *token.FileSet
}

type goImport struct {
	path string
	node ast.Node
}

func (p *goPackage) imports() []goImport {
	var out []goImport
	for _, file := range p.files {
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				out = append(out, goImport{path, spec})
			}
		}
	}
	return out
}

func (p *goPackage) position(n ast.Node) string {
	at := p.fset.Position(n.Pos())
	return filepath.ToSlash(at.Filename) + ":" + strconv.Itoa(at.Line)
}

// goPackages parses every package of the module, sorted by folder.
func goPackages(t *testing.T) []*goPackage {
	t.Helper()
	byFolder := map[string]*goPackage{}
	for _, path := range repositoryFiles(t) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/") {
			continue
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		p := byFolder[folder]
		if p == nil {
			p = &goPackage{folder: folder, fset: token.NewFileSet()}
			byFolder[folder] = p
		}
		file, err := parser.ParseFile(p.fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Errorf("parse: %v", err)
			continue
		}
		p.name = file.Name.Name
		p.files = append(p.files, file)
	}
	var packages []*goPackage
	for _, p := range byFolder {
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b *goPackage) int { return strings.Compare(a.folder, b.folder) })
	return packages
}

// ignoredFolders hold nothing that people wrote.
var ignoredFolders = []string{".git", "bin", "dist", "node_modules"}

// repositoryFiles are the paths of all files of the repository, sorted.
// Modules of their own, such as tools, keep their own conventions.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(ignoredFolders, d.Name()) || path != "." && isModule(path) {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && d.Name() != ".git" { // of a work tree beside another, which says where that is
			paths = append(paths, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
