package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user that images run as, without a name that could be looked up in another image.
const user = "65532:65532"

// writeImage writes an OCI image index of a program for all its platforms, as an archive of an OCI image layout:
// https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
// The images have the program, licenses, certificates of public authorities, a folder for temporary files, and nothing else: no shell, and no
// user but one without rights.
func (r *release) writeImage(program Program, binaries []*binary) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	about := r.annotations(program)
	for _, b := range binaries {
		image, err := r.image(b)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.OS, Architecture: b.Arch, Variant: b.Variant}},
		})
	}
	index = mutate.Annotations(index, about).(v1.ImageIndex) //nolint:forcetypeassert // annotations of an index make an index
	folder, err := os.MkdirTemp(r.bin, "layout-")
	if err != nil {
		return err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	name := map[string]string{refName: r.tag()}
	if err := path.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return fmt.Errorf("write the image of %s: %w", program.Name, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	r.images = append(r.images, subject{Name: program.Name + ":" + r.tag(), Digest: map[string]string{digest.Algorithm: digest.Hex}})
	entries, err := readFolder(folder)
	if err != nil {
		return err
	}
	return create(r.file("%s-image_%s.tar", program.Name, r.version), func(w io.Writer) error { return writeTar(w, entries, r.time) })
}

// tag is the version as a tag of an image, which cannot have a "+".
func (r *release) tag() string { return strings.ReplaceAll(r.version, "+", "-") }

// annotations are those of https://github.com/opencontainers/image-spec/blob/main/annotations.md.
func (r *release) annotations(program Program) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": program.Name, prefix + "description": program.About, prefix + "source": r.Source, prefix + "revision": r.commit,
		prefix + "version": r.version, prefix + "licenses": r.Licenses, prefix + "created": r.time.Format("2006-01-02T15:04:05Z"),
	}
}

func (r *release) image(b *binary) (v1.Image, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	// What seldom changes is a layer of its own, which registries store once.
	system := []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("nonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("nonroot:x:65532:65532::/:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities()},
		{name: "tmp/", mode: 0o1777},
	}
	licenses, err := r.licenseEntries(b)
	if err != nil {
		return nil, err
	}
	for i := range licenses {
		licenses[i].name = "licenses/" + licenses[i].name
	}
	licenses = slices.Insert(licenses, 0, entry{name: "licenses/", mode: 0o755})
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range []struct {
		about   string
		entries []entry
	}{{"certificates", system}, {"licenses", licenses}, {b.Name, []entry{{name: b.Name, mode: 0o755, content: program}}}} {
		var content bytes.Buffer
		if err := writeTarGz(&content, layer.entries, r.time); err != nil {
			return nil, err
		}
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "release", Comment: layer.about}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: l, History: history, MediaType: types.OCILayer}); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant, config.Created = b.OS, b.Arch, b.Variant, v1.Time{Time: r.time}
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + b.Name}, Env: []string{"PATH=/", "HOME=/tmp"}, Labels: r.annotations(b.Program)}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, r.annotations(b.Program)).(v1.Image), nil //nolint:forcetypeassert // annotations of an image make an image
}

// authorities returns the certificates of Mozilla's programme as they are in golang.org/x/crypto, without those that are only trusted for
// some certificates: a file cannot say that.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return out.Bytes()
}

// readFolder returns the files of a folder, sorted by name.
func readFolder(folder string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		entries = append(entries, entry{name: filepath.ToSlash(relative), mode: 0o644, content: content})
		return err
	})
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, err
}
