package definition

import (
	"fmt"
	"path"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
)

// Build is what CI built.
type Build struct {
	// Version is the version of the workload; may be empty.
	Version string
	// Images are the images, by the names that the delivery has; the one without name is the delivery's first.
	Images map[string]Image
}

// Image is an image that was built. What is empty is not set.
type Image struct {
	Repository, Tag, Digest string
}

// Form says what a complete delivery renders.
func Form(d *app.Delivery) chart.Form {
	switch {
	case d.Spec.Kustomization != "":
		return chart.FormKustomization
	case d.Spec.Manifests != "":
		return chart.FormManifests
	}
	return chart.FormChart
}

// Targets makes the targets of a job from the pairs of an environment. The delivery is a complete one; with services,
// each is a job of its own: take the pairs of one. An image that the delivery does not know is an error.
func Targets(d *app.Delivery, environment string, pairs []Pair, b Build) ([]chart.Target, error) {
	image, err := imageValues(d, b)
	if err != nil {
		return nil, err
	}
	e, _ := d.Environment(environment)
	var targets []chart.Target
	for _, p := range pairs {
		t := chart.Target{
			Name: p.Target, Image: image,
			Options: chart.Options{Release: d.Spec.Release, Kubernetes: e.Kubernetes},
		}
		for _, layer := range p.Layers {
			t.Layers = append(t.Layers, path.Join(cleaned(d.Spec.Config.Path), layer))
		}
		for _, s := range d.Spec.Services {
			if s.Name == p.Service {
				t.Release, t.Namespace = s.Name, s.Namespace
			}
		}
		if Form(d) != chart.FormChart {
			t.Folder = cleaned(app.InTarget(d.Spec.Kustomization+d.Spec.Manifests, environment, p.Target))
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// imageValues are the values that images are put into.
func imageValues(d *app.Delivery, b Build) (map[string]string, error) {
	set := map[string]string{}
	put := func(at, value string) {
		if at != "" && value != "" {
			set[at] = value
		}
	}
	known := 0
	for i, image := range d.Spec.Images {
		built, ok := b.Images[image.Name]
		if !ok && i == 0 {
			built, ok = b.Images[""]
		}
		if ok {
			known++
		}
		put(image.Repository, built.Repository)
		put(image.Tag, built.Tag)
		put(image.Digest, built.Digest)
		put(image.Version, b.Version)
	}
	if known < len(b.Images) {
		return nil, fmt.Errorf("an image was built that the delivery of %q does not know; add it to images, or correct its name", d.Spec.Workload)
	}
	return set, nil
}
