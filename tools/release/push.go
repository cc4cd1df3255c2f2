package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// refName is the annotation of an image layout that has the tag.
const refName = "org.opencontainers.image.ref.name"

// push pushes the images and the chart of a release to a registry, with the credentials of docker login. What is there already is
// compared, and never replaced by something else.
func push(ctx context.Context, folder, registry string, log io.Writer, options ...name.Option) error {
	images, err := filepath.Glob(filepath.Join(folder, "*-image_*.tar"))
	if err != nil {
		return err
	}
	charts, err := filepath.Glob(filepath.Join(folder, "*-chart_*.tgz"))
	if err != nil {
		return err
	}
	if len(images)+len(charts) == 0 {
		return fmt.Errorf("%s has no images and no chart", folder)
	}
	for _, file := range images {
		program, _, _ := strings.Cut(filepath.Base(file), "-image_")
		if err := pushImage(ctx, file, registry+"/"+program, log, options); err != nil {
			return fmt.Errorf("push %s: %w", file, err)
		}
	}
	for _, file := range charts {
		base, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".tgz"), "-chart_")
		if err := pushChart(ctx, file, registry+"/charts/"+base, strings.TrimPrefix(version, "v"), log, options); err != nil {
			return fmt.Errorf("push %s: %w", file, err)
		}
	}
	return nil
}

func pushImage(ctx context.Context, file, repository string, log io.Writer, options []name.Option) error {
	folder, err := os.MkdirTemp("", "kalypso-push-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	index, tag, err := openImage(file, folder)
	if err != nil {
		return err
	}
	ref, err := name.NewTag(repository+":"+tag, options...)
	if err != nil {
		return err
	}
	return pushNew(ctx, ref, index, log, func(o ...remote.Option) error { return remote.WriteIndex(ref, index, o...) })
}

// pushChart pushes a chart as Helm does: https://helm.sh/docs/topics/registries/#helm-chart-manifest.
func pushChart(ctx context.Context, file, repository, version string, log io.Writer, options []name.Option) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.cncf.helm.config.v1+json")
	image, err = mutate.Append(image, mutate.Addendum{Layer: static.NewLayer(content, "application/vnd.cncf.helm.chart.content.v1.tar+gzip")})
	if err != nil {
		return err
	}
	ref, err := name.NewTag(repository+":"+strings.ReplaceAll(version, "+", "_"), options...)
	if err != nil {
		return err
	}
	return pushNew(ctx, ref, image, log, func(o ...remote.Option) error { return remote.Write(ref, image, o...) })
}

// pushNew pushes what a tag does not have yet.
func pushNew(ctx context.Context, ref name.Tag, what interface{ Digest() (v1.Hash, error) }, log io.Writer, write func(...remote.Option) error) error {
	digest, err := what.Digest()
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	switch there, err := remote.Head(ref, options...); {
	case err == nil && there.Digest != digest:
		return fmt.Errorf("%s is %s already, and not %s: releases are not replaced", ref, there.Digest, digest)
	case err == nil:
		fmt.Fprintf(log, "%s@%s is there\n", ref, digest)
		return nil
	}
	if err := write(options...); err != nil {
		return err
	}
	fmt.Fprintf(log, "pushed %s@%s\n", ref, digest)
	return nil
}

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9./-]*$`)

// openImage unpacks the archive of an image layout into a folder, and returns its one index, with its tag.
func openImage(file, folder string) (index v1.ImageIndex, tag string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", err
		}
		if !plainName.MatchString(header.Name) || strings.Contains(header.Name, "..") {
			return nil, "", fmt.Errorf("it has a file %q, which is not one of an image layout", header.Name)
		}
		name := filepath.Join(folder, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, "", err
		}
		if err := create(name, func(w io.Writer) error { _, err := io.Copy(w, r); return err }); err != nil {
			return nil, "", err
		}
	}
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, "", err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, "", err
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations[refName] == "" {
		return nil, "", errors.New("it has no image with a tag, or several")
	}
	index, err = top.ImageIndex(manifest.Manifests[0].Digest)
	return index, manifest.Manifests[0].Annotations[refName], err
}
