package main

import (
	"errors"
	"fmt"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// protocol are the documents of the protocol of external schedulers: the Go type of each, and its file.
var protocol = []struct{ name, file, title string }{
	{"Request", "schedulingrequest.json", "Request to an external scheduler or extender"},
	{"Response", "schedulingresponse.json", "Response of an external scheduler or extender"},
}

// writeProtocol writes the schemas of the protocol's types, which are in a Go package. Their comments and markers are those of
// resources.
func writeProtocol(pattern, out string) error {
	roots, err := loader.LoadRoots(pattern)
	if err != nil {
		return err
	}
	if len(roots) != 1 {
		return fmt.Errorf("%q is not one package", pattern)
	}
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return err
	}
	parser := &crd.Parser{Collector: &markers.Collector{Registry: registry}, Checker: &loader.TypeChecker{}}
	crd.AddKnownTypes(parser)
	parser.NeedPackage(roots[0])
	for _, document := range protocol {
		id := crd.TypeIdent{Package: roots[0], Name: document.name}
		parser.NeedFlattenedSchemaFor(id)
		flat, ok := parser.FlattenedSchemata[id]
		if !ok {
			return fmt.Errorf("there is no type %s in %s", document.name, pattern)
		}
		s := convert(flat, false)
		exact(flat, s)
		s["title"] = document.title
		if err := writeSchema(out, document.file, s); err != nil {
			return err
		}
	}
	if loader.PrintErrors(roots, packages.TypeError) {
		return errors.New("the types of the protocol have errors")
	}
	return nil
}

// exact makes the schema of a resource's type that of a program's document: without the type null, because an absent list has
// a meaning in a response, and with the limits of numbers.
func exact(in apiextensionsv1.JSONSchemaProps, out schema) {
	if types, ok := out["type"].([]string); ok {
		out["type"] = types[0]
	}
	if in.Minimum != nil && in.Maximum != nil {
		out["minimum"], out["maximum"] = *in.Minimum, *in.Maximum
	}
	if items, ok := out["items"].(schema); ok {
		exact(*in.Items.Schema, items)
	}
	if properties, ok := out["properties"].(schema); ok {
		for _, name := range sortedKeys(properties) {
			exact(in.Properties[name], properties[name].(schema)) //nolint:forcetypeassert // convert made it
		}
	}
}
