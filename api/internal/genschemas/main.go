// Command genschemas writes the JSON Schemas that editors use to check and complete
// Kalypso documents, from the CustomResourceDefinitions that controller-gen wrote.
//
// For each kind it writes <kind>.json, and for all of them together kalypso.json,
// which picks the schema by a document's apiVersion and kind and lets other documents pass.
//
// It also writes the schemas of the protocol of external schedulers, from its Go types.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	crds := flag.String("crds", "", "`folder` of the CustomResourceDefinitions")
	scheduling := flag.String("scheduling", "", "`package` of the protocol of external schedulers")
	out := flag.String("out", "", "`folder` the schemas are written to")
	flag.Parse()
	err := run(*crds, *out)
	if err == nil {
		err = writeProtocol(*scheduling, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genschemas:", err)
		os.Exit(1)
	}
}

// serverSchema is not for control plane documents: another program writes it.
const serverSchema = "serve.json"

// run converts every definition in the folder crds. Files of kinds that no longer exist are removed from out.
func run(crds, out string) error {
	paths, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil {
		return err
	}
	var kinds []kind
	for _, path := range paths {
		k, err := readKind(path)
		if err != nil {
			return fmt.Errorf("read %q: %w", path, err)
		}
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return fmt.Errorf("no CustomResourceDefinitions in %q", crds)
	}
	nameSchemas(kinds)
	if err := removeSchemas(out); err != nil {
		return err
	}
	for _, k := range kinds {
		if err := writeSchema(out, k.file(), k.document()); err != nil {
			return err
		}
	}
	return writeSchema(out, "kalypso.json", together(kinds))
}

// readKind reads one CustomResourceDefinition and returns its only version.
func readKind(path string) (kind, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return kind{}, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		return kind{}, err
	}
	if n := len(crd.Spec.Versions); n != 1 {
		return kind{}, fmt.Errorf("%d versions, want 1", n)
	}
	version := crd.Spec.Versions[0]
	return kind{
		Name:       crd.Spec.Names.Kind,
		APIVersion: crd.Spec.Group + "/" + version.Name,
		Schema:     version.Schema.OpenAPIV3Schema,
	}, nil
}

func removeSchemas(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if filepath.Base(path) == serverSchema {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// writeSchema adds the fields of a schema document to s, and writes it.
func writeSchema(dir, file string, s schema) error {
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["$id"] = schemaBase + file

	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("encode %q: %w", file, err)
	}
	return os.WriteFile(filepath.Join(dir, file), text.Bytes(), 0o644)
}

func (k kind) file() string { return strings.ToLower(k.SchemaName) + ".json" }

// ownGroup is the group of the documents in a control plane.
const ownGroup = "scheduler.kalypso.io/"

// nameSchemas names the schema of each kind: as the kind, with the first part of its group if a kind of a control plane has that name.
func nameSchemas(kinds []kind) {
	own := map[string]bool{}
	for _, k := range kinds {
		own[k.Name] = own[k.Name] || strings.HasPrefix(k.APIVersion, ownGroup)
	}
	for i, k := range kinds {
		kinds[i].SchemaName = k.Name
		if own[k.Name] && !strings.HasPrefix(k.APIVersion, ownGroup) {
			group, _, _ := strings.Cut(k.APIVersion, ".")
			kinds[i].SchemaName = strings.ToUpper(group[:1]) + group[1:] + k.Name
		}
	}
}
