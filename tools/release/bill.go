package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeBill writes what a program was built from, as CycloneDX JSON: the modules that Go recorded in it, and Go itself.
func (r *release) writeBill(b *binary) error {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(program)
	main := component(cyclonedx.ComponentTypeApplication, b.info.Main.Path, r.version)
	main.Name, main.Hashes = b.Name, &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}}
	main.Licenses = &cyclonedx.Licenses{{Expression: r.Licenses}}
	bill := cyclonedx.NewBOM()
	// The same program has the same number.
	bill.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, digest[:]).String()
	bill.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format("2006-01-02T15:04:05Z"), Component: &main}
	var components []cyclonedx.Component
	refs := map[string]string{}
	for _, m := range b.modules {
		kind := cyclonedx.ComponentTypeLibrary
		if m.path == standardLibrary {
			kind = cyclonedx.ComponentTypePlatform
		}
		c := component(kind, m.path, m.version)
		c.Licenses = &cyclonedx.Licenses{{Expression: m.licenses}}
		components, refs[m.path] = append(components, c), c.BOMRef
	}
	bill.Components = &components
	dependencies := []cyclonedx.Dependency{dependency(main.BOMRef, b.needs, refs)}
	for _, m := range b.modules {
		dependencies = append(dependencies, dependency(refs[m.path], m.needs, refs))
	}
	bill.Dependencies = &dependencies
	name := filepath.Join(r.out, fmt.Sprintf("%s_%s_%s.cdx.json", b.Name, r.version, b.suffix()))
	return create(name, func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bill)
	})
}

// dependency lists the modules that a module imports.
func dependency(of string, needs []string, refs map[string]string) cyclonedx.Dependency {
	var on []string
	for _, path := range needs {
		if ref := refs[path]; ref != "" {
			on = append(on, ref)
		}
	}
	return cyclonedx.Dependency{Ref: of, Dependencies: &on}
}

// component is a Go module, with its package URL: https://github.com/package-url/purl-spec/blob/main/types-doc/golang-definition.md.
// In its canonical form, the path is in lower case and "+" is escaped.
func component(kind cyclonedx.ComponentType, path, version string) cyclonedx.Component {
	url := "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cyclonedx.Component{Type: kind, BOMRef: url, Name: path, Version: version, PackageURL: url}
}
