package deliver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// checkDelivery returns everything that is wrong with a Delivery; nil if it is valid. It checks the rules of the
// custom resource definition, which is not applied to files in Git, and the paths. Names must be labels, because they
// become part of branches, folders and status contexts. The order of
// environments is checked elsewhere, with the chain.
func checkDelivery(d *app.Delivery) error {
	if d == nil {
		return nil
	}
	var c checker
	s := d.Spec
	c.form(s)
	c.label("spec.release", s.Release)
	if s.Chart != nil {
		c.chart("spec.chart", *s.Chart)
	}
	for _, service := range s.Services {
		c.name("a service", service.Name)
		c.label("the namespace of service "+service.Name, service.Namespace)
		c.chart("the chart of service "+service.Name, service.Chart)
	}
	c.path("spec.kustomization", s.Kustomization)
	c.path("spec.manifests", s.Manifests)
	c.path("spec.config.path", s.Config.Path)
	c.path("spec.config.schema", s.Config.Schema)
	c.path("spec.gitops.path", s.GitOps.Path)
	c.levels(s.Config.Levels)
	c.secrets(s.Secrets)
	for _, t := range s.Config.Targets {
		c.name("a target of spec.config", t.Name)
		c.path("the folder of target "+t.Name, t.Folder)
	}
	for _, e := range s.Environments {
		c.name("an environment", e.Name)
		if e.Promotion != nil {
			c.rings(e.Name, e.Promotion)
		}
	}
	return errors.Join(c.wrong...)
}

const maxLevels = 16

var levelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,62}$`)

type checker struct{ wrong []error }

func (c *checker) fail(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

// form checks that exactly one thing is rendered.
func (c *checker) form(s app.DeliverySpec) {
	forms := []bool{s.Chart != nil, s.Kustomization != "", s.Manifests != "", len(s.Services) > 0}
	if len(slices.DeleteFunc(forms, func(set bool) bool { return !set })) > 1 {
		c.fail("the Delivery sets several of chart, kustomization, manifests and services; keep one")
	}
}

func (c *checker) name(of, name string) {
	if name == "" {
		c.fail("%s has no name", of)
	}
	c.label("the name of "+of, name)
}

// levels checks the levels of the configuration. Their names are those of layers, next to paths with dots.
func (c *checker) levels(levels []app.ConfigLevel) {
	if len(levels) > maxLevels {
		c.fail("spec.config.levels has %d entries; the maximum is %d", len(levels), maxLevels)
		return
	}
	known := map[string]bool{}
	for _, l := range levels {
		if !levelName.MatchString(l.Name) {
			c.fail("the name of a level is %.100q; write letters, digits and underscores, beginning with a letter", l.Name)
		}
		if known[l.Name] {
			c.fail("spec.config.levels has several levels %q", l.Name)
		}
		known[l.Name] = true
		c.path("the template of level "+l.Name, l.Template)
	}
}

// secrets checks where the values come from that charts would make up.
func (c *checker) secrets(secrets []app.ChartSecret) {
	sources := []string{string(app.FromExisting), string(app.FromExternalSecrets), string(app.FromCertManager), string(app.FromJob)}
	image := ""
	for i, s := range secrets {
		what := fmt.Sprintf("spec.secrets[%d]", i)
		switch known := slices.Contains(sources, string(s.From)); {
		case !known && fleet.Nearest(string(s.From), sources) != "":
			c.fail("%s has from: %.100q; did you mean %s?", what, s.From, fleet.Nearest(string(s.From), sources))
		case !known:
			c.fail("%s has from: %.100q; write one of %s", what, s.From, strings.Join(sources, ", "))
		case s.From == app.FromExisting && (s.Value == "" || s.Secret == ""):
			c.fail("%s: Existing needs a value, which takes the name of the Secret in the chart, and a secret; kalypso app secrets lists values", what)
		case s.From != app.FromExisting && s.Value+s.Secret != "":
			c.fail("%s: value and secret are for Existing; remove them", what)
		case s.From != app.FromJob && (s.Image != "" || s.Rotation != 0):
			c.fail("%s: image and rotation are for Job; remove them", what)
		case s.From != app.FromJob:
		case s.Image == "":
			c.fail("%s: Job needs an image: that of kalypso-agent, from a registry that the clusters can reach", what)
		case s.Rotation < 0:
			c.fail("%s has rotation: %d; write a number from 0", what, s.Rotation)
		case image != "" && image != s.Image:
			c.fail("%s: one Job makes all Secrets; write the image %.100q", what, image)
		default:
			image = s.Image
		}
	}
}

// label checks an optional name.
func (c *checker) label(what, name string) {
	if name != "" && len(validation.IsDNS1123Label(name)) > 0 {
		c.fail("%s is %.100q; write at most 63 lower-case letters, digits and dashes", what, name)
	}
}

func (c *checker) path(what, p string) {
	if _, err := fleet.CleanPath(p); err != nil {
		c.fail("%s is %.100q: %w", what, p, err)
	}
}

func (c *checker) chart(what string, chart app.Chart) {
	c.path(what, chart.Path)
	switch {
	case chart.Path != "" && chart.Repository+chart.Name+chart.Version != "":
		c.fail("%s has a path, and a repository, name or version; keep one of the two", what)
	case chart.Path != "":
	case chart.Repository == "" || chart.Version == "":
		c.fail("%s has neither a path in the source, nor a repository and a version", what)
	case chart.Name == "" && !strings.HasPrefix(chart.Repository, "oci://"):
		c.fail("%s has no name; name the chart of the repository", what)
	}
	c.namespace(what+": namespace", chart.Namespace)
	for _, n := range chart.Namespaces {
		if n.Namespace == "" {
			c.fail("%s: an entry of namespaces has no namespace", what)
		}
		c.namespace(what+": namespaces", n.Namespace)
	}
}

// namespace checks an optional namespace with placeholders.
func (c *checker) namespace(what, pattern string) {
	c.label(what, app.InTarget(pattern, "e", "t"))
}
