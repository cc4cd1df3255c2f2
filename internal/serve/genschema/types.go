package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// structs are struct types with their comments, by name.
type structs map[string]described

type described struct {
	text   string
	fields []field
}

// field is a field of a struct that the configuration file has.
type field struct {
	name     string // in Go
	property string // in the file
	text     string
	optional bool
	kind     ast.Expr
}

// parseTypes returns the struct types of some Go files.
func parseTypes(files []string) (structs, error) {
	types := structs{}
	for _, file := range files {
		if err := types.parse(file); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// parse adds the struct types of a Go file.
func (s structs) parse(source string) error {
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if fieldsOf, ok := t.Type.(*ast.StructType); ok {
				// "Connection is a forge" is about the Go type; the file has a forge.
				text, found := sentences(group.Doc), fields(fieldsOf)
				if rest, ok := strings.CutPrefix(text, t.Name.Name+" is "); ok && rest != "" {
					text = strings.ToUpper(rest[:1]) + rest[1:]
				}
				s[t.Name.Name] = described{inWordsOfTheFile(text, found), found}
			}
		}
	}
	return nil
}

// sentences returns a comment as running text.
func sentences(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }

// fields reads the fields of a struct. One without a comment is described together with the field above it.
func fields(s *ast.StructType) []field {
	var found []field
	above := ""
	for _, f := range s.Fields.List {
		if f.Tag == nil || len(f.Names) == 0 {
			continue // the file does not have it
		}
		tag, _ := strconv.Unquote(f.Tag.Value) // the file parses, so this does
		property, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		above = cmp.Or(sentences(f.Doc), above)
		found = append(found, field{f.Names[0].Name, property, above, options != "", f.Type})
	}
	for i := range found {
		found[i].text = inWordsOfTheFile(found[i].text, found)
	}
	return found
}

// inWordsOfTheFile replaces the names that fields have in Go: the first word of a text,
// and others that are no words of English.
func inWordsOfTheFile(text string, fields []field) string {
	for _, f := range fields {
		if rest, ok := strings.CutPrefix(text, f.name+" "); ok {
			text = f.property + " " + rest
		}
		if strings.ContainsFunc(f.property, unicode.IsUpper) {
			text = strings.ReplaceAll(text, f.name, f.property)
		}
	}
	return text
}

// object returns the schema of a struct type. A field that is not optional in JSON is required.
func (s structs) object(name string) (schema, error) {
	t, ok := s[name]
	if !ok {
		return nil, fmt.Errorf("there is no struct type %q", name)
	}
	properties, required := schema{}, []string{}
	for _, f := range t.fields {
		value, err := s.value(f.kind)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", name, f.name, err)
		}
		if f.text != "" {
			value["description"] = f.text
		}
		maps.Copy(value, rules[name+"."+f.property])
		properties[f.property] = value
		if !f.optional {
			required = append(required, f.property)
		}
	}
	object := schema{
		"type": "object", "description": t.text, "properties": properties, "required": required, "additionalProperties": false,
	}
	maps.Copy(object, rules[name])
	if reflect.ValueOf(object["required"]).Len() == 0 {
		delete(object, "required")
	}
	return object, nil
}

// value returns the schema of a type.
func (s structs) value(t ast.Expr) (schema, error) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.value(t.X)
	case *ast.ArrayType:
		items, err := s.value(t.Elt)
		return schema{"type": "array", "items": items}, err
	case *ast.MapType:
		values, err := s.value(t.Value)
		return schema{"type": "object", "additionalProperties": values}, err
	case *ast.SelectorExpr:
		return s.value(t.Sel)
	case *ast.Ident:
		if _, ok := s[t.Name]; ok {
			return s.object(t.Name)
		}
		return named(t.Name)
	}
	return nil, fmt.Errorf("a type of this form is not known")
}

// named returns the schema of a type that is no struct of the file.
func named(name string) (schema, error) {
	switch name {
	case "string", "Kind", "Severity":
		return schema{"type": "string"}, nil
	case "bool":
		return schema{"type": "boolean"}, nil
	case "int", "int64":
		return schema{"type": "integer"}, nil
	case "Duration":
		return schema{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}, nil
	}
	return nil, fmt.Errorf("type %s is not known", name)
}
