// Command schemas makes the schemas that manifests are checked with of Kubernetes' own description of its API,
// in the version that the tests run.
//
//	schemas FILE
//
// It keeps what a validator needs, and forbids fields that the API does not know, as kubectl does when it validates strictly.
// It is run in the folder of package tools.
package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("name the file to write")
	}
	version, folder, err := kubernetes()
	if err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(folder, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	out, err := os.Create(args[0])
	if err != nil {
		return err
	}
	return errors.Join(write(version, in, out), out.Close())
}

// kubernetes returns the minor version of Kubernetes, such as 1.36, and the folder with its source.
func kubernetes() (version, folder string, err error) {
	download := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes")
	download.Dir, download.Env, download.Stderr = "cluster", append(os.Environ(), "GOWORK=off"), os.Stderr
	output, err := download.Output()
	if err != nil {
		return "", "", fmt.Errorf("download Kubernetes: %w", err)
	}
	var module struct{ Version, Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return "", "", err
	}
	parts := strings.Split(strings.TrimPrefix(module.Version, "v"), ".")
	return strings.Join(parts[:min(2, len(parts))], "."), module.Dir, nil
}

// schemas is the file: the definitions of a JSON Schema, and which of them describe objects.
type schemas struct {
	Version string            `json:"version"`
	Kinds   map[string]string `json:"kinds"` // "apps/v1 Deployment" to a definition
	Defs    map[string]any    `json:"$defs"`
}

func write(version string, in io.Reader, out io.Writer) error {
	var swagger struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.NewDecoder(in).Decode(&swagger); err != nil {
		return fmt.Errorf("read the description of the API: %w", err)
	}
	s := schemas{Version: version, Kinds: map[string]string{}, Defs: map[string]any{}}
	for name, definition := range swagger.Definitions {
		for _, kind := range kinds(definition) {
			s.Kinds[kind] = name
		}
		s.Defs[name] = reduced(name, definition)
	}
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(packed).Encode(s); err != nil {
		return err
	}
	return packed.Close()
}

// kinds are the objects that a definition describes. DeleteOptions and the like, which every group has, are none.
func kinds(definition map[string]any) []string {
	all, _ := definition["x-kubernetes-group-version-kind"].([]any)
	if len(all) != 1 {
		return nil
	}
	only, _ := all[0].(map[string]any)
	apiVersion := strings.TrimPrefix(fmt.Sprintf("%v/%v", only["group"], only["version"]), "/")
	return []string{fmt.Sprintf("%s %v", apiVersion, only["kind"])}
}

// reduced is a definition as a JSON Schema that forbids what is not known.
func reduced(name string, definition map[string]any) any {
	short := name[strings.LastIndex(name, ".")+1:]
	switch short {
	case "Quantity":
		return map[string]any{"type": []string{"string", "number"}}
	case "IntOrString":
		return map[string]any{"type": []string{"string", "integer"}}
	case "JSONSchemaProps": // a schema in a schema, which has a checker of its own
		return map[string]any{"type": "object"}
	}
	s := field(definition)
	if _, ok := s["properties"]; ok {
		s["additionalProperties"] = false
	}
	return s
}

// field is what is kept of a schema.
func field(from map[string]any) map[string]any {
	s := map[string]any{}
	if ref, ok := from["$ref"].(string); ok {
		return map[string]any{"$ref": "#/$defs/" + strings.TrimPrefix(ref, "#/definitions/")}
	}
	for _, key := range []string{"type", "required", "enum"} {
		if v, ok := from[key]; ok {
			s[key] = v
		}
	}
	if properties, ok := from["properties"].(map[string]any); ok {
		fields := map[string]any{}
		for name, p := range properties {
			if p, ok := p.(map[string]any); ok {
				fields[name] = field(p)
			}
		}
		s["properties"] = fields
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := from[key].(map[string]any); ok {
			s[key] = field(below)
		}
	}
	return s
}
