package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
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
	goTool := component(cyclonedx.ComponentTypePlatform, "stdlib", strings.TrimPrefix(b.info.GoVersion, "go"))
	components := []cyclonedx.Component{goTool}
	needs := []string{goTool.BOMRef}
	for _, m := range b.info.Deps {
		c := moduleComponent(m)
		components, needs = append(components, c), append(needs, c.BOMRef)
	}
	bill.Components = &components
	bill.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	name := filepath.Join(r.out, fmt.Sprintf("%s_%s_%s.cdx.json", b.Name, r.version, b.suffix()))
	return create(name, func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bill)
	})
}

func moduleComponent(m *debug.Module) cyclonedx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	return component(cyclonedx.ComponentTypeLibrary, m.Path, m.Version)
}

// component is a Go module, with its package URL: https://github.com/package-url/purl-spec/blob/main/types-doc/golang-definition.md.
func component(kind cyclonedx.ComponentType, path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{Type: kind, BOMRef: url, Name: path, Version: version, PackageURL: url}
}
